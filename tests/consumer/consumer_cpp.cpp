// A C++17 program outside the tree that uses an installed Weft.
#include <iostream>
#include <string>
#include <weft/weft.hpp>

int main() {
    const std::string expected = std::to_string(WEFT_VERSION_MAJOR) + "." +
                                 std::to_string(WEFT_VERSION_MINOR) + "." +
                                 std::to_string(WEFT_VERSION_PATCH);
    const std::size_t devices = weft::device_count();
    static const float fixed[] = {1, 2};
    const weft_value none = weft_value_in(nullptr, fixed, sizeof fixed); // const without a cast
    if (none.tensor) return 1;
    std::cout << "C++17: weft " << weft_version() << ", " << devices << " devices\n";
    return expected != weft_version();
}
