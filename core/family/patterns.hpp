// Patterns: the different sets of members that rows of a group count for, numbered as they are met.
//
// In a cross-validation the rows of one fold have one pattern: everybody but that fold's member. A row that went both
// ways, for different members, has a pattern with fewer of them on each side.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#if defined(__BMI2__)
#include <immintrin.h>
#endif

namespace treefold {

// The bits of a word that stand in the mask, moved together.
inline uint64_t gather_bits(uint64_t word, uint64_t mask) {
#if defined(__BMI2__)
    return _pext_u64(word, mask);
#else
    uint64_t gathered = 0;
    for (int at = 0; mask != 0; mask &= mask - 1, ++at)
        gathered |= uint64_t{(word & mask & (~mask + 1)) != 0} << at;
    return gathered;
#endif
}

// A set of shares of a group, as bits.
class ShareSet {
public:
    explicit ShareSet(size_t n_shares = 0) { reset(n_shares); }
    void reset(size_t n_shares) {
        words_.assign((n_shares + 63) / 64, 0);
        size_ = 0;
    }
    void add(size_t share) {  // that is not yet in it
        words_[share / 64] |= uint64_t{1} << (share % 64);
        ++size_;
    }
    size_t size() const { return size_; }
    const uint64_t* words() const { return words_.data(); }

    // Are those of the set that word(k) names others than the last ones? Then they are the last ones now.
    template <class Word>
    bool differs(Word&& word, std::vector<uint64_t>& last) const {
        uint64_t changed = 0;
        for (size_t k = 0; k < words_.size(); ++k) {
            uint64_t now = word(k) & words_[k];
            changed |= now ^ last[k];
            last[k] = now;
        }
        return changed != 0;
    }

    // Those of the set that word(k) names, by their number within it.
    template <class Word>
    void number(Word&& word, std::vector<uint64_t>& numbered) const {
        numbered.assign((size_ + 63) / 64 + 1, 0);
        size_t n = 0;
        for (size_t k = 0; k < words_.size(); ++k) {
            uint64_t bits = gather_bits(word(k), words_[k]);
            numbered[n / 64] |= bits << (n % 64);
            if (n % 64 != 0) numbered[n / 64 + 1] |= bits >> (64 - n % 64);
            n += static_cast<size_t>(std::popcount(words_[k]));
        }
    }

private:
    std::vector<uint64_t> words_;
    size_t size_ = 0;
};

class Patterns {
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    explicit Patterns(size_t n_members = 0) { reset(n_members); }
    void reset(size_t n_members) {
        n_members_ = n_members;
        n_words_ = (n_members + 63) / 64;
        size_ = 0;
        words_.clear();
        words_.reserve(kFirst / 2 * n_words_);
        slots_.assign(kFirst, kNone);
    }

    size_t size() const { return size_; }
    size_t n_members() const { return n_members_; }
    size_t n_words() const { return n_words_; }
    bool has(uint32_t pattern, size_t member) const {
        return words_[pattern * n_words_ + member / 64] >> (member % 64) & 1;
    }
    const uint64_t* words(uint32_t pattern) const { return words_.data() + pattern * n_words_; }

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
        slots_.assign(4 * slots_.size(), kNone);
        for (uint32_t pattern = 0; pattern < size_; ++pattern)
            slots_[place_of(words(pattern))] = pattern;
    }

    static constexpr size_t kFirst = 32;  // places to begin with: half as many patterns

    size_t n_members_ = 0, n_words_ = 0, size_ = 0;
    std::vector<uint64_t> words_;  // n_words per pattern
    std::vector<uint32_t> slots_;  // a hash table of numbers
};

// Interns sets most of which lack one member at most: those are known without a look into the hash table.
class LoneAbsence {
public:
    explicit LoneAbsence(Patterns& patterns) : patterns_(patterns) {
        known_.fill(Patterns::kNone);
        if (size_t n = patterns.n_members(); n >= 2 && n <= 64)
            everybody_ = ~uint64_t{0} >> (64 - n);
    }
    uint32_t intern(const uint64_t* set) {
        uint64_t absent = everybody_ & ~*set;
        if (everybody_ == 0 || (absent & (absent - 1)) != 0) return patterns_.intern(set);
        uint32_t& number = known_[static_cast<size_t>(std::countr_zero(absent))];
        if (number == Patterns::kNone) [[unlikely]]
            number = patterns_.intern(set);
        return number;
    }

private:
    Patterns& patterns_;
    uint64_t everybody_ = 0;  // 0: a word has no room for them
    std::array<uint32_t, 65> known_;  // by who is absent; 64: nobody
};

}  // namespace treefold
