#!/bin/sh
# Every C file is as .clang-format has it.
cd "$(dirname "$0")/../.." || exit 1
find sim models traces include tests -name '*.[ch]' -print0 | xargs -0 clang-format --dry-run --Werror
