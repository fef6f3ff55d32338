// Checks for the tests of weft.hpp: each failure is printed, and the program goes on.
#ifndef CPP_CHECKS_HPP
#define CPP_CHECKS_HPP

#include <cstdio>
#include <vector>
#include <weft/weft.hpp>

inline int failures = 0;

inline void check_that(bool holds, const char *what, const char *file, int line) {
    if (holds) return;
    std::printf("%s:%d: %s\n", file, line, what);
    failures++;
}

// Whether the call throws a weft::error with this status and this text in its line.
template <class F> bool throws(weft_status status, const char *text, F call) {
    try {
        call();
    } catch (const weft::error &error) {
        if (error.status() == status && std::string(error.what()).find(text) != std::string::npos)
            return true;
        std::printf("%s: %s\n", weft_status_name(error.status()), error.what());
    }
    return false;
}

#define CHECK(holds) check_that((holds), #holds, __FILE__, __LINE__)
#define CHECK_THROWS(status, text, ...)                                                                      \
    check_that(throws(status, text, [&] { __VA_ARGS__; }), #__VA_ARGS__, __FILE__, __LINE__)

struct named_check {
    const char *name;
    void (*run)();
};

// Runs the checks, and returns the status of the program.
inline int run_checks(const std::vector<named_check> &checks) {
    for (const named_check &check : checks) {
        try {
            check.run();
        } catch (const std::exception &error) {
            std::printf("%s: %s\n", check.name, error.what());
            failures++;
        }
    }
    std::printf("%zu checks, %d failures\n", checks.size(), failures);
    return failures != 0;
}

#endif
