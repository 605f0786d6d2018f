#!/usr/bin/env python3
"""Compares the Metal backend's binding with Apple's metal-cpp.

Usage: scripts/check_metal_binding.py METAL_CPP   a folder that holds Metal/ and Foundation/
       scripts/check_metal_binding.py METAL_CPP --self-test

Each row of methods.inc: the class or protocol has a method of that selector, with as many arguments
of the same kinds and the same kind of result. Each enumerator of metal4.hpp that names one of Apple's
in its comment: the value.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "src" / "backends" / "metal"
ROW = re.compile(r'^GIRIH_METAL_METHOD\((\w+), (\w+), "(\w+)", "([^"]+)", (.*)\)$', re.MULTILINE)
ENUMERATOR = re.compile(r"^constexpr U?Int \w+ = (.*?);\s*///< ([\w, ]+)$", re.MULTILINE)
# Messages of NSObject and NSString that metal-cpp spells in its own way.
FOUNDATION = {"alloc", "init", "retain", "release", "UTF8String", "stringWithUTF8String:", "code",
              "localizedDescription", "respondsToSelector:"}


def kind(text):
    """A letter for what the calling convention tells apart."""
    text = re.sub(r"\bconst\b|\b(MTL4?|NS|std)::", "", text).replace(" ", "")
    if text in ("void", "bool"):
        return text
    if text in ("Size", "Range"):
        return text
    if "*" in text or text in ("id", "dispatch_data_t") or "Handler" in text or "Function" in text:
        return "pointer"
    if text in ("uint8_t", "std::uint8_t"):
        return "byte"
    return "word"  # NSUInteger, enumerations, addresses: 64 bits


def declared(headers):
    """class -> {selector: [(result, [arguments])]} and class -> parents."""
    methods, parents, selectors = {}, {}, {}
    for text in headers:
        for name, selector in re.findall(r'_(?:MTL|NS)_PRIVATE_DEF_SEL\((\w+),\s*"([^"]+)"', text):
            selectors[name] = selector
        for match in re.finditer(r"^class (\w+) : public NS::\w+<([^>]*)>\s*\{(.*?)^\};", text,
                                 re.MULTILINE | re.DOTALL):
            name, bases, body = match.groups()
            parents.setdefault(name, []).extend(b.split("::")[-1].strip() for b in bases.split(",")[1:])
        for match in re.finditer(r"_(?:MTL4?|NS)_INLINE ([\w:*<> ]+?)\s*(MTL4?|NS)::(\w+)::(\w+)\(([^)]*)\)"
                                 r"(?: const)?\s*\{(.*?)\n\}", text, re.DOTALL):
            result, space, owner, _, arguments, body = match.groups()
            sent = re.search(r"_(?:MTL|NS)_PRIVATE_SEL\((\w+)\)", body)
            if not sent:
                continue
            types = [re.sub(r"\s*\w+$", "", a.strip()) for a in arguments.split(",") if a.strip()]
            prefix = {"MTL": "MTL", "MTL4": "MTL4", "NS": "NS"}[space]
            methods.setdefault(prefix + owner, {}).setdefault(sent.group(1), []).append((result, types))
    return methods, parents, selectors


def check_rows(inc, headers):
    methods, _, selectors = declared(headers)
    names = {selector: name for name, selector in selectors.items()}
    for _, _, owner, selector, signature in ROW.findall(inc):
        if selector in FOUNDATION:
            continue
        name = names.get(selector)
        if name is None:
            yield f"{owner} {selector}: no such selector"
            continue
        found = methods.get(owner, {}).get(name)
        if not found:
            yield f"{owner} {selector}: the class has no such method"
            continue
        result, *arguments = [part.strip() for part in signature.split(",")]
        ours = [kind(result)] + [kind(a) for a in arguments]
        theirs = [[kind(r)] + [kind(a) for a in args] for r, args in found]
        if ours not in theirs:
            yield f"{owner} {selector}: {ours} here, {theirs[0]} there"


def check_values(header, headers):
    text = "\n".join(headers)
    for expression, names in ENUMERATOR.findall(header):
        value = 0
        for name in names.split(","):
            short = re.sub(r"^MTL4?", "", name.strip())
            found = re.search(rf"\b{short} = ([^,]+),", text)
            if not found:
                yield f"{name.strip()}: no such enumerator"
                break
            value |= int(eval(found.group(1), {"__builtins__": {}}))  # pylint: disable=eval-used
        else:
            if value != eval(expression, {"__builtins__": {}}):  # pylint: disable=eval-used
                yield f"{names}: {expression} here, {value} there"


def check(inc, header, headers):
    return [*check_rows(inc, headers), *check_values(header, headers)]


def self_test(inc, header, headers):
    faults = [(inc, '"setAddress:atIndex:"', '"setAdress:atIndex:"'),
              (inc, '"MTL4ArgumentTable", "setAddress', '"MTL4Compiler", "setAddress'),
              (inc, "void, std::uint64_t, UInt)", "void, UInt)"),
              (inc, "void, Size, Size)", "void, UInt, Size)"),
              (header, "= 5002;", "= 5001;")]
    for source, before, after in faults:
        if before not in source:
            sys.exit(f"self-test: no '{before}'")
        changed = source.replace(before, after, 1)
        pair = (changed, header) if source is inc else (inc, changed)
        if not check(*pair, headers):
            sys.exit(f"self-test: '{after}' was not caught")
    print(f"self-test: {len(faults)} faults caught")


def main():
    folder = pathlib.Path(sys.argv[1])
    headers = [p.read_text(encoding="utf-8", errors="replace")
               for name in ("Metal", "Foundation") for p in sorted((folder / name).glob("*.hpp"))]
    if not headers:
        sys.exit(f"no headers in {folder}/Metal")
    inc = (ROOT / "methods.inc").read_text(encoding="utf-8")
    header = (ROOT / "metal4.hpp").read_text(encoding="utf-8")
    if sys.argv[2:] == ["--self-test"]:
        self_test(inc, header, headers)
        return
    messages = check(inc, header, headers)
    if messages:
        sys.exit("\n".join(messages))
    print(f"{len(ROW.findall(inc))} methods and {len(ENUMERATOR.findall(header))} values agree")


main()
