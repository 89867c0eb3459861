// A few numbers in a row, without memory of their own where they are no more than eighty bytes: the counts of ten classes.
// (A node of a group has two such lines for each member: Car's ten folds together, 1.1 times as fast.)
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace treefold {

template <class T>
class ShortLine {
public:
    ShortLine() = default;
    explicit ShortLine(size_t size) { resize(size); }
    ShortLine(const ShortLine& other) { *this = other; }
    ShortLine(ShortLine&&) noexcept = default;
    ShortLine& operator=(const ShortLine& other) {
        if (this == &other) return *this;
        resize(other.size_);
        std::copy_n(other.data(), size_, data());
        return *this;
    }
    ShortLine& operator=(ShortLine&&) noexcept = default;

    // All zero.
    void resize(size_t size) {
        if (size > kNear && (!far_ || size != size_))
            far_ = std::make_unique_for_overwrite<T[]>(size);
        if (size <= kNear) far_.reset();
        size_ = size;
        std::fill_n(data(), size, T{});
    }

    size_t size() const { return size_; }
    T* data() { return far_ ? far_.get() : near_.data(); }
    const T* data() const { return far_ ? far_.get() : near_.data(); }
    T& operator[](size_t at) { return data()[at]; }
    const T& operator[](size_t at) const { return data()[at]; }
    T* begin() { return data(); }
    T* end() { return data() + size_; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }

private:
    static constexpr size_t kNear = 80 / sizeof(T) == 0 ? 1 : 80 / sizeof(T);

    size_t size_ = 0;
    std::array<T, kNear> near_;
    std::unique_ptr<T[]> far_;
};

}  // namespace treefold
