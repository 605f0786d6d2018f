#!/bin/bash
# Copies what a device run needs: ship.sh DESTINATION [BINARY]
set -e
cd "$(dirname "$0")/.."
D=${1:?destination}
rm -rf $D/*
mkdir -p $D/build
cp -r proto src scripts $D/
if [ -n "$2" ]; then cp $2 $D/build/bench; fi
