# What a program can call, a line each: functions, and macros that take arguments. Comments before a declaration may name
# others. Input: the public headers.
/^WEFT_API/ { waiting = 1 }
/^#define weft_/ || (waiting && /weft_[a-z0-9_]+\(/) {
    match($0, /weft_[a-z0-9_]+\(/)
    print substr($0, RSTART, RLENGTH - 1)
    waiting = 0
}
