// From values to codes: each column is sorted once, here, and never again.
//
// load a column -> few distinct values? a small hash table finds them : a radix sort ranks them -> codes

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "base/memory.hpp"
#include "data/table.hpp"

namespace treefold {

namespace {

constexpr size_t kFewDistinct = 255;  // with the missing code they fit one byte
constexpr uint32_t kNotANumber = UINT32_MAX;

// A sparse column is worth its keep up to this share of listed rows; above it the dense scan is faster
// (benchmarks/peers/sparse.py).
constexpr double kSparseShare = 0.2;

// Integers in the order of the float64 they stand for.
uint64_t order_key(double value) {
    uint64_t bits = std::bit_cast<uint64_t>(value);
    return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
}

[[noreturn]] void reject(size_t column, size_t row, const std::string& what) {
    throw DataError("column " + std::to_string(column) + " has " + what + " in row " +
                    std::to_string(row));
}

// Per-thread memory of the sort, allocated once and used for column after column.
struct Scratch {
    std::vector<double> values;  // the group of columns in work, one after another
    std::unique_ptr<uint64_t[]> words, other;  // (key, row), and where a pass puts them
    size_t capacity = 0;
    std::vector<uint32_t> counts;

    void reserve_sort(size_t count) {
        if (count <= capacity) return;
        words = std::make_unique_for_overwrite<uint64_t[]>(count);
        other = std::make_unique_for_overwrite<uint64_t[]>(count);
        capacity = count;
    }
};

// What ranking a list of values gives; NaN has the code kNotANumber until the missing code is known.
struct Ranks {
    bool may_borrow = false;  // are kManyRows values and more left out?
    uint32_t n_distinct = 0;
    std::vector<double> distinct;  // or nothing
    bool has_missing = false;
};

// Rows first .. last - 1 of a column as float64 (+ 0.0 makes -0.0 positive).
void load_rows(const DenseView& view, size_t first, size_t last, std::span<double> out,
               size_t column) {
    with_type(view.type, view.data, [&](auto* data) {
        double unreal = 0.0;  // inf - inf and nan - nan are nan: one test for all rows
        for (size_t row = first; row < last; ++row) {
            double value =
                static_cast<double>(data[static_cast<ptrdiff_t>(row) * view.stride]) + 0.0;
            out[row] = value;
            unreal += value - value;
        }
        if (unreal == 0.0) return;
        for (size_t row = first; row < last; ++row)
            if (std::isinf(out[row])) reject(column, row, "an infinite value");
    });
}

// Up to kFewDistinct values by a small hash table, without a sort. False when there are more: a
// continuous column gives up after a few hundred rows.
class FewValues {
public:
    bool rank(std::span<const double> values, std::vector<uint8_t>& codes, Ranks& ranks) {
        codes.resize(values.size());
        slot_.fill(-1);
        found_.clear();
        uint64_t previous = 0;
        int code = -1;
        for (size_t row = 0; row < values.size(); ++row) {
            double value = values[row];
            if (value != value) {
                ranks.has_missing = true;
                codes[row] = kMissing;
                previous = 0, code = -1;
                continue;
            }
            uint64_t bits = std::bit_cast<uint64_t>(value);
            if (code < 0 || bits != previous) {
                code = find(value, bits);
                if (code < 0) return false;
                previous = bits;
            }
            codes[row] = static_cast<uint8_t>(code);
        }
        renumber(codes, ranks);
        return true;
    }

private:
    static constexpr size_t kSlots = 1024;
    static constexpr uint8_t kMissing = 255;

    int find(double value, uint64_t bits) {
        size_t slot = (bits * 0x9E3779B97F4A7C15u) >> 54;
        while (slot_[slot] >= 0) {
            if (found_[static_cast<size_t>(slot_[slot])] == value) return slot_[slot];
            slot = (slot + 1) % kSlots;
        }
        if (found_.size() == kFewDistinct) return -1;
        slot_[slot] = static_cast<int16_t>(found_.size());
        found_.push_back(value);
        return slot_[slot];
    }
    void renumber(std::vector<uint8_t>& codes, Ranks& ranks) {
        ranks.distinct = found_;
        ranks.n_distinct = static_cast<uint32_t>(found_.size());
        std::sort(ranks.distinct.begin(), ranks.distinct.end());
        std::array<uint8_t, 256> rank_of{};
        for (size_t k = 0; k < found_.size(); ++k) {
            auto place = std::lower_bound(ranks.distinct.begin(), ranks.distinct.end(), found_[k]);
            rank_of[k] = static_cast<uint8_t>(place - ranks.distinct.begin());
        }
        rank_of[kMissing] = static_cast<uint8_t>(found_.size());
        for (uint8_t& code : codes) code = rank_of[code];
    }

    std::array<int16_t, kSlots> slot_{};
    std::vector<double> found_;
};

// A radix sort by bits 32 to 63, eleven at a time; passes over bits in which all words agree are left out.
void radix_sort(size_t count, Scratch& scratch) {
    constexpr uint32_t kBuckets = 2048;
    constexpr std::array<int, 3> kShifts{32, 43, 54};
    scratch.counts.assign(kShifts.size() * kBuckets, 0);
    uint64_t *from = scratch.words.get(), *to = scratch.other.get();
    for (size_t k = 0; k < count; ++k)
        for (size_t pass = 0; pass < kShifts.size(); ++pass)
            ++scratch.counts[pass * kBuckets + (from[k] >> kShifts[pass] & (kBuckets - 1))];
    for (size_t pass = 0; pass < kShifts.size(); ++pass) {
        uint32_t* next = scratch.counts.data() + pass * kBuckets;
        if (next[from[0] >> kShifts[pass] & (kBuckets - 1)] == count) continue;
        uint32_t sum = 0;
        for (uint32_t bucket = 0; bucket < kBuckets; ++bucket)
            sum += std::exchange(next[bucket], sum);
        for (size_t k = 0; k < count; ++k)
            to[next[from[k] >> kShifts[pass] & (kBuckets - 1)]++] = from[k];
        std::swap(from, to);
    }
    if (from != scratch.words.get()) std::swap(scratch.words, scratch.other);
}

// Sorts rows by value: a radix sort on the upper half of the key, then, where upper halves agree but
// values do not, a comparison sort of that stretch. Three passes instead of six: the upper half (sign,
// exponent, 20 bits) tells nearly all values of real columns apart.
void sort_rows(const double* values, size_t count, Scratch& scratch) {
    if (count < 256)  // clearing and adding up 6,144 counters costs more
        std::sort(scratch.words.get(), scratch.words.get() + count);
    else
        radix_sort(count, scratch);
    uint64_t* words = scratch.words.get();
    auto row_of = [](uint64_t word) { return static_cast<uint32_t>(word); };
    auto by_value = [&](uint64_t a, uint64_t b) {
        double left = values[row_of(a)], right = values[row_of(b)];
        return left != right ? left < right : row_of(a) < row_of(b);
    };
    for (size_t end = 1; end < count; ++end) {
        if (words[end] >> 32 != words[end - 1] >> 32) continue;
        size_t begin = end - 1;
        double first = values[row_of(words[begin])];
        bool all_equal = true;
        for (; end < count && words[end] >> 32 == words[begin] >> 32; ++end)
            all_equal &= values[row_of(words[end])] == first;
        if (!all_equal) std::sort(words + begin, words + end, by_value);
    }
}

// Ranks values that are many; emit(row, code) is called for each that is not missing.
template <class Emit>
void rank_by_sort(std::span<const double> values, Scratch& scratch, Ranks& ranks, Emit&& emit) {
    scratch.reserve_sort(values.size());
    size_t count = 0;
    for (size_t row = 0; row < values.size(); ++row)
        if (values[row] == values[row])
            scratch.words[count++] = (order_key(values[row]) >> 32) << 32 | row;
    ranks.has_missing = count < values.size();
    sort_rows(values.data(), count, scratch);
    const uint64_t* words = scratch.words.get();
    uint64_t* distinct = scratch.other.get();  // which the sort has left free
    size_t n_distinct = 0;
    double previous = std::numeric_limits<double>::quiet_NaN();
    for (size_t k = 0; k < count; ++k) {
        uint32_t row = static_cast<uint32_t>(words[k]);
        double value = values[row];
        n_distinct += value != previous;
        distinct[n_distinct - 1] = std::bit_cast<uint64_t>(value);
        emit(row, static_cast<uint32_t>(n_distinct - 1));
        previous = value;
    }
    ranks.n_distinct = static_cast<uint32_t>(n_distinct);
    if (n_distinct == 0 || (ranks.may_borrow && n_distinct >= kManyRows)) return;
    ranks.distinct.resize(n_distinct);
    std::memcpy(ranks.distinct.data(), distinct, n_distinct * sizeof(double));
}

template <class Code>
void fill_codes(std::span<const double> values, Scratch& scratch, Ranks& ranks,
                std::vector<Code>& codes) {
    codes.resize(values.size());
    rank_by_sort(values, scratch, ranks,
                 [&](uint32_t row, uint32_t code) { codes[row] = static_cast<Code>(code); });
    if (!ranks.has_missing) return;
    for (size_t row = 0; row < values.size(); ++row)
        if (values[row] != values[row]) codes[row] = static_cast<Code>(ranks.n_distinct);
}

// A dense numeric column from its loaded values.
void encode_numeric(std::span<const double> values, Scratch& scratch, Column& column) {
    Ranks ranks;
    if (!FewValues().rank(values, column.codes.narrow, ranks)) {
        column.codes.narrow = {};
        ranks = {};
        ranks.may_borrow = column.borrows_values();
        if (values.size() < UINT16_MAX) {
            fill_codes(values, scratch, ranks, column.codes.middle);
        } else {
            fill_codes(values, scratch, ranks, column.codes.wide);
            if (ranks.n_distinct < UINT16_MAX) {  // many rows, fewer values: two bytes are enough
                column.codes.middle.assign(column.codes.wide.begin(), column.codes.wide.end());
                column.codes.wide = {};
            }
        }
    }
    column.n_codes = ranks.n_distinct;
    if (ranks.distinct.size() == ranks.n_distinct) column.origin = {};
    column.values = std::move(ranks.distinct);
    column.has_missing = ranks.has_missing;
}

void store_codes(const std::vector<uint32_t>& codes, Column& column) {
    if (column.n_codes <= kFewDistinct)
        column.codes.narrow.assign(codes.begin(), codes.end());
    else if (column.n_codes < UINT16_MAX)
        column.codes.middle.assign(codes.begin(), codes.end());
    else
        column.codes.wide = codes;
}

void encode_categories(std::span<const double> values, uint32_t n_categories, size_t at,
                       Column& column) {
    std::vector<uint32_t> codes(values.size());
    for (size_t row = 0; row < values.size(); ++row) {
        double value = values[row];
        bool is_missing = value != value;
        if (!is_missing && !(value >= 0 && value < n_categories && value == std::floor(value)))
            reject(at, row,
                   "the category number " + std::to_string(value) + ", which is not one of 0 to " +
                       std::to_string(n_categories - 1) + ",");
        codes[row] = is_missing ? n_categories : static_cast<uint32_t>(value);
        column.has_missing |= is_missing;
    }
    column.is_categorical = true;
    column.n_codes = n_categories;
    store_codes(codes, column);
}

// Numbers that stand for categories: their ranks are the category numbers. A column of nothing has one category.
void encode_labels(std::span<const double> values, Scratch& scratch, Column& column) {
    encode_numeric(values, scratch, column);
    column.is_categorical = true;
    if (column.n_codes != 0) return;
    column.n_codes = 1;
    column.codes.narrow.assign(values.size(), 1);
}

void encode_dense(std::span<const double> values, const ColumnView& view, size_t at,
                  Scratch& scratch, Column& column) {
    if (view.n_categories != 0)
        encode_categories(values, view.n_categories, at, column);
    else if (view.has_labels)
        encode_labels(values, scratch, column);
    else
        encode_numeric(values, scratch, column);
}

// The listed entries of one column of a CSC matrix: explicit zeros dropped.
struct Listed {
    std::vector<double> values;
    std::vector<uint32_t> rows;
};

Listed list_entries(const SparseView& block, size_t within, size_t at) {
    Listed listed;
    auto begin = static_cast<size_t>(block.begins[within]),
         end = static_cast<size_t>(block.begins[within + 1]);
    listed.values.reserve(end - begin);
    listed.rows.reserve(end - begin);
    with_type(block.values.type, block.values.data, [&](auto* data) {
        for (size_t k = begin; k < end; ++k) {
            auto value = static_cast<double>(data[static_cast<ptrdiff_t>(k) * block.values.stride]);
            auto row = static_cast<uint32_t>(block.indices[k]);
            if (std::isinf(value)) reject(at, row, "an infinite value");
            if (value == 0.0) continue;
            listed.values.push_back(value);
            listed.rows.push_back(row);
        }
    });
    return listed;
}

// Ranks the listed values and zero, which all other rows have; returns the codes of the listed rows.
std::vector<uint32_t> rank_listed(const Listed& listed, size_t n_rows, Scratch& scratch,
                                  Column& column) {
    Ranks ranks;
    std::vector<uint32_t> codes(listed.rows.size(), kNotANumber);
    rank_by_sort(listed.values, scratch, ranks,
                 [&](uint32_t k, uint32_t code) { codes[k] = code; });
    column.has_missing = ranks.has_missing;
    column.values = std::move(ranks.distinct);
    auto zero = std::lower_bound(column.values.begin(), column.values.end(), 0.0);
    column.zero_code = static_cast<uint32_t>(zero - column.values.begin());
    uint32_t shift = listed.rows.size() < n_rows ? 1 : 0;  // does any row have zero?
    if (shift != 0) column.values.insert(zero, 0.0);
    column.n_codes = static_cast<uint32_t>(column.values.size());
    for (uint32_t& code : codes) {
        if (code == kNotANumber)
            code = column.n_codes;
        else if (code >= column.zero_code)
            code += shift;
    }
    return codes;
}

// A column of a sparse matrix that has too many entries to be kept sparse is still ranked by them alone: zeros are
// not sorted.
void encode_sparse(const Source& source, const ColumnView& view, size_t at, Scratch& scratch,
                   Column& column) {
    Listed listed = list_entries(source.blocks[view.block], view.within, at);
    size_t n_rows = source.n_rows;
    if (view.n_categories != 0) {
        std::vector<double> values(n_rows, 0.0);
        for (size_t k = 0; k < listed.rows.size(); ++k) values[listed.rows[k]] = listed.values[k];
        return encode_categories(values, view.n_categories, at, column);
    }
    std::vector<uint32_t> codes = rank_listed(listed, n_rows, scratch, column);
    auto n_listed = static_cast<double>(listed.rows.size());
    column.is_sparse = n_listed <= kSparseShare * static_cast<double>(n_rows);
    if (column.is_sparse) {
        column.listed_rows = std::move(listed.rows);
        column.listed_codes = std::move(codes);
        return;
    }
    std::vector<uint32_t> all(n_rows, column.zero_code);
    for (size_t k = 0; k < codes.size(); ++k) all[listed.rows[k]] = codes[k];
    store_codes(all, column);
}

// Neighbouring columns of a row-major array share cache lines, so a group of them is loaded together, a stretch of
// rows at a time (Covertype, 54 columns: 1.15 times as fast an encoding). A group takes at most a byte per cell.
// Few cells are one group: a second thread would take longer to start (1,728 x 6: 0.1 ms instead of 0.2).
size_t group_size(size_t n_rows, size_t n_columns) {
    constexpr size_t kFewCells = 40'000;
    if (n_rows * n_columns < kFewCells) return std::max<size_t>(1, n_columns);
    return std::clamp<size_t>(n_columns / 8, 1, 8);
}

// May the values of a column be read where they lie, later?
bool can_borrow(const ColumnView& view) {
    return view.kind == ColumnView::Kind::dense && view.n_categories == 0 && !view.has_labels;
}

void encode_group(const Source& source, size_t first, size_t last, Scratch& scratch, Table& table) {
    constexpr size_t kStretch = 256;
    size_t n_rows = source.n_rows;
    auto is_dense = [&](size_t k) { return source.columns[k].kind == ColumnView::Kind::dense; };
    auto loaded = [&](size_t k) {
        return std::span(scratch.values).subspan((k - first) * n_rows, n_rows);
    };
    for (size_t k = first; k < last; ++k)
        if (is_dense(k))
            scratch.values.resize(std::max(scratch.values.size(), (k - first + 1) * n_rows));
    for (size_t row = 0; row < n_rows; row += kStretch)
        for (size_t k = first; k < last; ++k)
            if (is_dense(k))
                load_rows(source.columns[k].dense, row, std::min(row + kStretch, n_rows), loaded(k),
                          k);
    for (size_t k = first; k < last; ++k) {
        const ColumnView& view = source.columns[k];
        if (is_dense(k))
            encode_dense(loaded(k), view, k, scratch, table.columns[k]);
        else if (view.kind == ColumnView::Kind::csc)
            encode_sparse(source, view, k, scratch, table.columns[k]);
        else
            throw DataError("column " + std::to_string(k) + " has no data that can be encoded");
    }
}

void encode_columns(const Source& source, Workers& workers, Table& table) {
    std::vector<Scratch> scratch(static_cast<size_t>(workers.size()));
    size_t n_columns = source.columns.size(), size = group_size(source.n_rows, n_columns);
    workers.for_each((n_columns + size - 1) / size, [&](size_t group, int worker) {
        encode_group(source, group * size, std::min((group + 1) * size, n_columns),
                     scratch[static_cast<size_t>(worker)], table);
    });
}

std::vector<uint32_t> list_narrow(const Table& table) {
    std::vector<uint32_t> columns;
    for (bool is_categorical : {false, true})
        for (uint32_t k = 0; k < table.columns.size(); ++k)
            if (!table.columns[k].codes.narrow.empty() &&
                table.columns[k].is_categorical == is_categorical)
                columns.push_back(k);
    return columns;
}

}  // namespace

Table encode(const Source& source, Workers& workers, bool may_borrow) {
    Table table;
    table.n_rows = source.n_rows;
    table.columns.resize(source.columns.size());
    for (size_t k = 0; k < source.columns.size(); ++k)
        if (may_borrow && can_borrow(source.columns[k]))
            table.columns[k].origin = source.columns[k].dense;
    encode_columns(source, workers, table);
    table.lines = line_up(table, list_narrow(table), workers);
    if (table.n_rows >= kVeryManyRows) release_freed();  // 24 bytes per row and thread
    return table;
}

}  // namespace treefold
