// From rows to leaves: blocks of rows are brought together as float64, only the columns that the tree asks for,
// then walk the tree side by side.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "data/table.hpp"
#include "model/tree.hpp"
#include "split/split.hpp"

namespace treefold {

namespace {

constexpr size_t kBlock = 256;  // rows; 20 columns of them fill 40 kB
constexpr size_t kTask = 16 * kBlock;  // rows of one worker at a time
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// What a step of the walk reads: 24 bytes in one place.
struct Step {
    double threshold;
    const uint64_t* left_set;  // categorical
    uint32_t right;
    uint32_t slot_and_side;  // slot << 1 | missing_left; kUnread in leaves
};
constexpr uint32_t kUnread = UINT32_MAX;

// Brings rows of a source together as lines of float64, one slot per column that is asked for. The rows of a
// row-major float64 array are such lines already, and are read in place.
class Reader {
public:
    template <class Features>
    Reader(const Features& features, const Source& source)
        : source_(source), slot_of_(source.columns.size(), kUnread) {
        for (int64_t feature : features) {
            if (feature < 0 || slot_of_[static_cast<size_t>(feature)] != kUnread) continue;
            slot_of_[static_cast<size_t>(feature)] = static_cast<uint32_t>(columns_.size());
            columns_.push_back(static_cast<size_t>(feature));
        }
        find_array();
    }
    size_t width() const {
        return array_ != nullptr ? source_.columns.size() : std::max<size_t>(1, columns_.size());
    }
    bool reads_in_place() const { return array_ != nullptr; }
    uint32_t slot(int64_t feature) const {
        return array_ != nullptr ? static_cast<uint32_t>(feature)
                                 : slot_of_[static_cast<size_t>(feature)];
    }

    // Lines of `count` rows, in `block` or where they lie.
    const double* read(size_t first, size_t count, double* block) const {
        if (array_ != nullptr) {
            const double* lines = array_ + first * width();
            check_finite(lines, first, count);
            return lines;
        }
        bool has_rows_sparse = false;
        for (size_t slot = 0; slot < columns_.size(); ++slot) {
            const ColumnView& view = source_.columns[columns_[slot]];
            switch (view.kind) {
                case ColumnView::Kind::dense: read_dense(view, slot, first, count, block); break;
                case ColumnView::Kind::table: read_table(view, slot, first, count, block); break;
                case ColumnView::Kind::csr:
                    for (size_t k = 0; k < count; ++k) block[k * width() + slot] = 0.0;
                    has_rows_sparse = true;
                    break;
                default:
                    throw DataError("column " + std::to_string(columns_[slot]) +
                                    " cannot be read row by row");
            }
        }
        if (has_rows_sparse)
            for (size_t index = 0; index < source_.blocks.size(); ++index)
                read_sparse(index, first, count, block);
        check_finite(block, first, count);
        number_unknown(count, block);
        return block;
    }

private:
    // Is the source one row-major float64 array of numbers?
    void find_array() {
        const double* origin = nullptr;
        for (size_t column = 0; column < source_.columns.size(); ++column) {
            const ColumnView& view = source_.columns[column];
            auto* data = static_cast<const double*>(view.dense.data);
            if (column == 0) origin = data;
            bool fits = view.kind == ColumnView::Kind::dense && view.n_categories == 0 &&
                        view.dense.type == Type::float64 && data == origin + column &&
                        view.dense.stride == static_cast<ptrdiff_t>(source_.columns.size());
            if (!fits) return;
        }
        array_ = origin;
    }

    void read_dense(const ColumnView& view, size_t slot, size_t first, size_t count,
                    double* block) const {
        with_type(view.dense.type, view.dense.data, [&](auto* data) {
            data += static_cast<ptrdiff_t>(first) * view.dense.stride;
            for (size_t k = 0; k < count; ++k)
                block[k * width() + slot] =
                    static_cast<double>(data[static_cast<ptrdiff_t>(k) * view.dense.stride]);
        });
    }
    void read_table(const ColumnView& view, size_t slot, size_t first, size_t count,
                    double* block) const {
        const TableView& rows = source_.tables[view.block];
        const Column& column = rows.table->columns[view.within];
        auto write = [&](auto&& code_of) {
            for (size_t k = 0; k < count; ++k) {
                uint32_t code = code_of(rows.row(first + k));
                double value = code == column.missing_code() ? kMissing
                               : column.is_categorical       ? code
                                                             : column.values[code];
                block[k * width() + slot] = value;
            }
        };
        if (column.is_sparse)
            write([&](size_t row) { return column.code_of(row); });
        else
            column.codes.with([&](auto* codes) {
                write([&](size_t row) { return static_cast<uint32_t>(codes[row]); });
            });
    }
    void read_sparse(size_t index, size_t first, size_t count, double* block) const {
        const SparseView& view = source_.blocks[index];
        with_type(view.values.type, view.values.data, [&](auto* data) {
            for (size_t k = 0; k < count; ++k) {
                auto begin = static_cast<size_t>(view.begins[first + k]),
                     end = static_cast<size_t>(view.begins[first + k + 1]);
                for (size_t entry = begin; entry < end; ++entry) {
                    size_t column = view.first_column + static_cast<size_t>(view.indices[entry]);
                    const ColumnView& owner = source_.columns[column];
                    bool is_read = slot_of_[column] != kUnread &&
                                   owner.kind == ColumnView::Kind::csr && owner.block == index;
                    if (is_read)
                        block[k * width() + slot_of_[column]] = static_cast<double>(
                            data[static_cast<ptrdiff_t>(entry) * view.values.stride]);
                }
            }
        });
    }
    void check_finite(const double* lines, size_t first, size_t count) const {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        size_t n_values = count * width();
        bool any_infinite = false;
        for (size_t k = 0; k < n_values; ++k) any_infinite |= std::fabs(lines[k]) == kInfinity;
        for (size_t k = 0; any_infinite && k < n_values; ++k) {
            if (!std::isinf(lines[k])) continue;
            size_t column = array_ != nullptr ? k % width() : columns_[k % width()];
            throw DataError("column " + std::to_string(column) + " has an infinite value in row " +
                            std::to_string(first + k / width()));
        }
    }
    // Unknown categories get the number behind the last one.
    void number_unknown(size_t count, double* block) const {
        for (size_t slot = 0; slot < columns_.size(); ++slot) {
            double n_categories = source_.columns[columns_[slot]].n_categories;
            if (n_categories == 0) continue;
            for (size_t k = slot; k < count * width(); k += width())
                if (block[k] < 0 || block[k] >= n_categories) block[k] = n_categories;
        }
    }

    const Source& source_;
    std::vector<uint32_t> slot_of_;
    std::vector<size_t> columns_;
    const double* array_ = nullptr;
};

class Walker {
public:
    Walker(const Tree& tree, const Source& source)
        : reader_(tree.feature, check_shape(tree, source)), steps_(tree.size()) {
        for (size_t node = 0; node < tree.size(); ++node) {
            Step& step = steps_[node];
            step = {-std::numeric_limits<double>::infinity(), nullptr, static_cast<uint32_t>(node),
                    0};
            if (tree.is_leaf(node)) continue;
            step.threshold = tree.threshold[node];
            step.right = static_cast<uint32_t>(tree.children_right[node]);
            step.slot_and_side =
                reader_.slot(tree.feature[node]) << 1 | tree.missing_go_to_left[node];
            if (std::isnan(step.threshold)) step.left_set = add_set(tree, node);
        }
    }

    size_t width() const { return reader_.width(); }
    bool reads_in_place() const { return reader_.reads_in_place(); }
    const double* read(size_t first, size_t count, double* block) const {
        return reader_.read(first, count, block);
    }

    bool is_leaf(uint32_t node) const { return steps_[node].right == node; }
    uint32_t next(uint32_t node, const double* line) const {
        const Step& step = steps_[node];
        double value = line[step.slot_and_side >> 1];
        uint32_t left =
            goes_left(value, step.threshold, value != value, step.slot_and_side & 1, step.left_set);
        return step.right +
               (node + 1 - step.right) * left;  // a jump would be guessed wrong half the time
    }

    // Rows walk in step with each other, so that one's wait for memory is another's work. A leaf leads to itself.
    void walk(size_t count, const double* block, int64_t* leaves) const {
        constexpr size_t kTogether = 8;
        for (size_t first = 0; first < count; first += kTogether) {
            size_t n_rows = std::min(kTogether, count - first);
            std::array<const double*, kTogether> line;
            for (size_t k = 0; k < kTogether; ++k)  // places without a row repeat the last one
                line[k] = block + (first + std::min(k, n_rows - 1)) * width();
            std::array<uint32_t, kTogether> node{};
            for (uint32_t moved = 1; moved != 0;) {
                moved = 0;
                for (size_t k = 0; k < kTogether; ++k) {
                    uint32_t after = next(node[k], line[k]);
                    moved |= after ^ node[k];
                    node[k] = after;
                }
            }
            for (size_t k = 0; k < n_rows; ++k) leaves[first + k] = node[k];
        }
    }

private:
    // The left set, with a bit more for unknown categories.
    const uint64_t* add_set(const Tree& tree, size_t node) {
        sets_.reserve(tree.category_words.size() + tree.size());  // all of them: they stay in place
        size_t begin = sets_.size(),
               unknown =
                   static_cast<size_t>(tree.n_categories[static_cast<size_t>(tree.feature[node])]);
        std::span<const uint64_t> set = tree.left_set(node);
        sets_.insert(sets_.end(), set.begin(), set.end());
        sets_.resize(begin + unknown / 64 + 1);
        uint64_t bit = uint64_t{1} << (unknown % 64);
        sets_.back() &= ~bit;
        if (tree.unknown_go_to_left[node] != 0) sets_.back() |= bit;
        return sets_.data() + begin;
    }

    static const Source& check_shape(const Tree& tree, const Source& source) {
        if (source.columns.size() != tree.n_categories.size())
            throw DataError("the data has " + std::to_string(source.columns.size()) +
                            " columns, the tree was grown on " +
                            std::to_string(tree.n_categories.size()));
        if (tree.size() >= UINT32_MAX) throw DataError("the tree has too many nodes");
        return source;
    }

    Reader reader_;
    std::vector<Step> steps_;
    std::vector<uint64_t> sets_;
};

// Calls body(first row, row count, block) over all rows, in parallel.
template <class Body>
void for_each_block(const Walker& walker, size_t n_rows, Workers& workers, Body&& body) {
    workers.for_each((n_rows + kTask - 1) / kTask, [&](size_t task, int) {
        std::vector<double> block(walker.reads_in_place() ? 0 : kBlock * walker.width());
        size_t end = std::min(n_rows, (task + 1) * kTask);
        for (size_t first = task * kTask; first < end; first += kBlock) {
            size_t count = std::min(kBlock, end - first);
            body(first, count, walker.read(first, count, block.data()));
        }
    });
}

}  // namespace

std::vector<double> read_lines(const Source& source) {
    std::vector<int64_t> all(source.columns.size());
    std::iota(all.begin(), all.end(), int64_t{0});
    Reader reader(all, source);
    std::vector<double> lines(source.n_rows * reader.width());
    for (size_t first = 0; first < source.n_rows; first += kBlock) {
        size_t count = std::min(kBlock, source.n_rows - first);
        double* block = lines.data() + first * reader.width();
        const double* read = reader.read(first, count, block);
        if (read != block) std::copy(read, read + count * reader.width(), block);
    }
    return lines;
}

std::vector<int64_t> apply(const Tree& tree, const Source& source, Workers& workers) {
    Walker walker(tree, source);
    std::vector<int64_t> leaves(source.n_rows);
    for_each_block(walker, source.n_rows, workers,
                   [&](size_t first, size_t count, const double* block) {
                       walker.walk(count, block, leaves.data() + first);
                   });
    return leaves;
}

DecisionPath decision_path(const Tree& tree, const Source& source, Workers& workers) {
    Walker walker(tree, source);
    std::vector<std::vector<int64_t>> visited(source.n_rows);
    for_each_block(
        walker, source.n_rows, workers, [&](size_t first, size_t count, const double* block) {
            for (size_t k = 0; k < count; ++k) {
                uint32_t node = 0;
                visited[first + k].push_back(0);
                while (!walker.is_leaf(node))
                    visited[first + k].push_back(node =
                                                     walker.next(node, block + k * walker.width()));
            }
        });
    DecisionPath path{{0}, {}};
    for (const auto& nodes : visited) {
        path.nodes.insert(path.nodes.end(), nodes.begin(), nodes.end());
        path.begins.push_back(static_cast<int64_t>(path.nodes.size()));
    }
    return path;
}

}  // namespace treefold
