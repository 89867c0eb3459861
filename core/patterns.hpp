// Patterns: the different sets of members that rows of a group count for, numbered as they are met.
//
// In a cross-validation the rows of one fold have one pattern: everybody but that fold's member. A row that went both
// ways, for different members, has a pattern with fewer of them on each side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace treefold {

class Patterns {
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    explicit Patterns(size_t n_members = 0)
        : n_members_(n_members), n_words_((n_members + 63) / 64), slots_(16, kNone) {}

    size_t size() const { return size_; }
    size_t n_members() const { return n_members_; }
    size_t n_words() const { return n_words_; }
    bool has(uint32_t pattern, size_t member) const {
        return words_[pattern * n_words_ + member / 64] >> (member % 64) & 1;
    }

    // The number of a set (n_words words), new or known; kNone for the empty set.
    uint32_t intern(const uint64_t* set) {
        if (is_empty(set)) return kNone;
        size_t place = place_of(set);
        if (slots_[place] != kNone) return slots_[place];
        words_.insert(words_.end(), set, set + n_words_);
        slots_[place] = static_cast<uint32_t>(size_++);
        auto number = static_cast<uint32_t>(size_ - 1);
        if (2 * size_ > slots_.size()) rehash();
        return number;
    }
    // The same of a known set; kNone for others.
    uint32_t find(const uint64_t* set) const {
        return is_empty(set) ? kNone : slots_[place_of(set)];
    }

private:
    bool is_empty(const uint64_t* set) const {
        uint64_t any = 0;
        for (size_t k = 0; k < n_words_; ++k) any |= set[k];
        return any == 0;
    }
    // Where it stands, or may stand, in the hash table.
    size_t place_of(const uint64_t* set) const {
        uint64_t hash = 0x9E3779B97F4A7C15u;
        if (n_words_ == 1)
            return find_place(mix_in(hash, *set), [&](uint32_t at) { return words_[at] == *set; });
        for (size_t k = 0; k < n_words_; ++k) hash = mix_in(hash, set[k]);
        return find_place(hash, [&](uint32_t at) {
            return std::equal(set, set + n_words_, words_.data() + at * n_words_);
        });
    }
    static uint64_t mix_in(uint64_t hash, uint64_t word) {
        hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
        return hash ^ hash >> 29;
    }
    template <class IsEqual>
    size_t find_place(uint64_t hash, IsEqual&& is_equal) const {
        size_t place = hash & (slots_.size() - 1);
        while (slots_[place] != kNone && !is_equal(slots_[place]))
            place = (place + 1) & (slots_.size() - 1);
        return place;
    }
    void rehash() {
        std::vector<uint64_t> words = std::move(words_);
        words_.clear();
        slots_.assign(4 * slots_.size(), kNone);
        size_t count = size_;
        size_ = 0;
        for (size_t k = 0; k < count; ++k) intern(words.data() + k * n_words_);
    }

    size_t n_members_, n_words_, size_ = 0;
    std::vector<uint64_t> words_;  // n_words per pattern
    std::vector<uint32_t> slots_;  // a hash table of numbers
};

}  // namespace treefold
