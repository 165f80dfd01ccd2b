#!/usr/bin/env bash
# Prints the flags that build with the race detector, quoted for a shell; nothing without a C
# compiler. SQLite, translated from C, and the function that makes a key of a passphrase slow
# to guess are left out of it: neither starts goroutines, and the tests take half the time.
# SQLite's C library must stay in, as its locks tell the detector what waits for what.
# Neither is checked for pointers that Go would not allow, as they work as C does.
command -v "$(${GO:-go} env CC)" >/dev/null 2>&1 || exit 0
echo -race "'-gcflags=modernc.org/sqlite/lib=-race=false -d=checkptr=0'" \
  -gcflags=modernc.org/libc=-d=checkptr=0 -gcflags=golang.org/x/crypto/scrypt=-race=false
