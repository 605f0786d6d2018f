#pragma once
// Interleaved comparison with cuBLASLt: its first heuristic and the best of its candidates. Rounds alternate the order;
// the figures are medians of per-round ratios (above 1: ours is faster). A wrong result prints no number.

namespace {

bool correct(Bench& b, const Problem& q, const PreparedGemm& g) {
    const Element t = q.epilogue.out.type;
    CHECK(cudaMemset(q.epilogue.out.data, 0xFF, q.m * q.n * q.batch * element_bytes(t)));
    CHECK(cudaMemset(b.d.result, 0, sizeof(CheckResult)));
    CHECK(cudaDeviceSynchronize());
    launch(g, b.stream);
    CHECK(cudaDeviceSynchronize());
    count_nan(q.epilogue.out.data, t, q.m * q.n * q.batch, b.d.result);
    const bool ak = q.a.major == Major::K, bk = q.b.major == Major::K;
    const std::int64_t rows = std::min<std::int64_t>(q.m, 4);
    for (const std::int64_t first : {std::int64_t(0), (q.m - rows) / 2, q.m - rows}) {
        CheckArgs c{rows, q.n, q.k, 1, q.type, static_cast<const char*>(q.a.data) + 2 * first * (ak ? q.a.ld : 1), q.b.data,
                    ak ? q.a.ld : 1, ak ? 1 : q.a.ld, 0, bk ? 1 : q.b.ld, bk ? q.b.ld : 1, 0, q.epilogue};
        c.e.out.data = static_cast<char*>(c.e.out.data) + element_bytes(t) * first * q.epilogue.out.ld;
        compare(c, b.d.result);
    }
    CheckResult h;
    CHECK(cudaMemcpy(&h, b.d.result, sizeof h, cudaMemcpyDeviceToHost));
    return h.bad == 0;
}

struct Entry {
    cudaGraphExec_t exec;
    std::vector<float> us;
};

// TUNE=n: measure the n plans predicted best, with traversals, and take the fastest; else the selected plan.
GemmPlan choose(Bench& b, const Buffers& buf, const GemmShape& shape, int launches, bool pdl, float& regret) {
    float model_us = 0;
    GemmPlan plan = select_gemm(shape, b.d.sms);
    const char* tune = std::getenv("TUNE");
    if (tune == nullptr) return plan;
    std::vector<GemmPlan> plans = ranked(shape, b.d.sms, std::atoi(tune));
    float best = 1e9;
    const auto try_plan = [&](const GemmPlan& p) {
        const Own o = own(b, buf, p);
        auto exec = record(b, launches, int(buf.sets.size()), [&](int i) { launch(o.sets[i], b.stream, pdl); });
        const float t = quick(b, exec, launches, 3);
        if (model_us == 0) model_us = t;
        if (t < best) best = t, plan = p;
        CHECK(cudaGraphExecDestroy(exec));
    };
    try_plan(plans[0]);  // the first measurement finds a cool device
    model_us = 0, best = 1e9;
    for (const GemmPlan& p : plans) try_plan(p);
    for (int group : {4, 8, 16}) {
        for (int columns = 0; columns < 2; ++columns) {
            GemmPlan p = plan;
            p.traversal = {group, columns != 0};
            try_plan(p);
        }
    }
    regret = model_us / best;
    return plan;
}

void ab(Bench& b, const char* ladder, const char* layout, Element type, int rounds) {
    const Major ma = layout[0] == 'N' ? Major::K : Major::MN, mb = layout[1] == 'T' ? Major::K : Major::MN;
    const bool pdl = std::getenv("NOPDL") == nullptr;
    const Element out = std::getenv("OUT_F32") ? Element::F32 : type;
    double log_first = 0, log_best = 0, worst = 1e9;
    int count = 0;
    for (const Shape& s : shapes_of(ladder)) {
        const Buffers buf = make(b, s, ma, mb, type, out);
        const int sets = int(buf.sets.size()), launches = launches_for(s, 1500);
        const GemmShape shape{s.m, s.n, s.k, s.batch, ma, mb, out, std::getenv("EPI") == nullptr};
        float regret = 1;
        const GemmPlan plan = choose(b, buf, shape, launches, pdl, regret);
        const Own o = own(b, buf, plan);
        if (!correct(b, buf.sets[0], o.sets[0])) {
            std::printf("%s %s %lldx%lldx%lld %s WRONG\n", layout, name_of(type), (long long)s.m, (long long)s.n, (long long)s.k, describe(plan).c_str());
            continue;
        }
        const auto lts = lt_plans(b, buf.sets[0], 8);
        std::vector<Entry> e;
        e.push_back({record(b, launches, sets, [&](int i) { launch(o.sets[i], b.stream, pdl); }), {}});
        std::size_t best = 1;
        float least = 1e9;
        for (const LtPlan& p : lts) e.push_back({record(b, launches, sets, [&](int i) { lt_run(b, p, buf.sets[i]); }), {}});
        for (std::size_t i = 1; i < e.size(); ++i) {
            const float t = quick(b, e[i].exec, launches, 3);
            if (t < least) least = t, best = i;
        }
        const std::size_t turn[] = {0, 1, best};
        for (int r = -2; r < rounds; ++r) {
            for (int i = 0; i < 3; ++i) {
                const std::size_t which = turn[r % 2 == 0 ? i : 2 - i];
                if (i == 1 && best == 1 && false) continue;
                const float t = once(b, e[which].exec, launches);
                if (r >= 0 && (which != 1 || best != 1 || i != 1)) e[which].us.push_back(t);
            }
        }
        std::vector<float> first, top;
        for (int r = 0; r < rounds; ++r) {
            first.push_back(e[1].us[r] / e[0].us[r]);
            top.push_back(e[best].us[r] / e[0].us[r]);
        }
        const float rf = median(first), rb = median(top), us = median(e[0].us);
        std::printf("%s %-4s %5lldx%5lldx%5lld b%-3lld %8.2f us %4.0f TF lt %.2f best %.2f r_first %.3f r_best %.3f %s reg %.2f\n", layout, name_of(type),
                    (long long)s.m, (long long)s.n, (long long)s.k, (long long)s.batch, us, 2e-6 * s.m * s.n * s.k * s.batch / us, median(e[1].us),
                    median(e[best].us), rf, rb, describe(plan).c_str(), regret);
        std::fflush(stdout);
        if (const char* path = std::getenv("CSV")) {
            FILE* f = std::fopen(path, "a");
            std::fprintf(f, "%s,%s,%s,%lld,%lld,%lld,%lld,%.3f,%.3f,%.3f,%.4f,%.4f,%d,%d,%d,%d,%d,%d,%d,%d,%.3f\n", ladder, layout, name_of(type), (long long)s.m,
                         (long long)s.n, (long long)s.k, (long long)s.batch, us, median(e[1].us), median(e[best].us), rf, rb, plan.tile, plan.cluster_rows,
                         plan.cluster_cols, plan.cluster_split, plan.splits, plan.traversal.group, int(plan.traversal.band_columns), int(plan.transposed), regret);
            std::fclose(f);
        }
        log_first += std::log(rf), log_best += std::log(rb), worst = std::min<double>(worst, rb), ++count;
        for (Entry& x : e) CHECK(cudaGraphExecDestroy(x.exec));
    }
    std::printf("== %s %s %s: geomean vs first %.3f, vs best %.3f, worst vs best %.3f\n", ladder, layout, name_of(type), std::exp(log_first / count),
                std::exp(log_best / count), worst);
}

}  // namespace
