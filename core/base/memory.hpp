// Memory that goes back to the system while its owner lives on. What the system or the C library does not offer is
// left out: nothing depends on it but the size of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace treefold {

// Work on fewer rows spares no memory: a fit takes a megabyte or two, and the next one would fault the same pages in again.
inline constexpr size_t kManyRows = 16'384;
// From here on even what lies about in the heap is given back (California and protein: a tenth of the time of a fit).
inline constexpr size_t kVeryManyRows = 131'072;

// Leaves what a vector grows by as it is: for memory that is written before it is read.
template <class T>
struct Unfilled : std::allocator<T> {
    template <class Other>
    struct rebind {
        using other = Unfilled<Other>;
    };
    template <class Other>
    void construct(Other* place) noexcept {
        ::new (static_cast<void*>(place)) Other;
    }
    template <class Other, class... Arguments>
    void construct(Other* place, Arguments&&... arguments) {
        ::new (static_cast<void*>(place)) Other(std::forward<Arguments>(arguments)...);
    }
};
using Words = std::vector<uint32_t, Unfilled<uint32_t>>;

// Gives back the whole pages among these bytes. What they held is lost; they may be written again.
inline void release_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t n_bytes) {
#if defined(__linux__)
    auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    auto begin = reinterpret_cast<uintptr_t>(data), end = begin + n_bytes;
    begin = (begin + page - 1) / page * page;
    end = end / page * page;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
#endif
}

// Gives back what was freed but is kept for later allocations. Looks at all of the heap: for large work only.
inline void release_freed() {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

}  // namespace treefold
