// The trees of a family: members that may go on together start in one root, or many of them in one for each worker; the
// others one after another.
#pragma once

#include <tuple>

#include "base/random.hpp"
#include "family/group_nodes.hpp"
#include "grow/grow_result.hpp"

namespace treefold {

// Orders are kept if at least one column in so many is tried in each node; if fewer are, sorting the rows
// of those costs less than carrying all orders along.
inline constexpr uint64_t kKeepShare = 16;

// Fewer trees than this for each worker would leave some without work at the end.
inline constexpr size_t kTreesPerWorker = 4;
// Members that go on together, and are so many for each worker, are divided among the workers: these share less, but
// wait for nobody (nested ten folds, two threads: Letter and Adult 1.1 times as fast).
inline constexpr size_t kSharesPerWorker = 9;
inline constexpr size_t kRowsBeside = 131'072;  // more to a tree keep all workers busy

// Trees that grow beside each other have a layout each: 64 MB for so many cells.
inline constexpr size_t kCellsPerWorker = size_t{1} << 24;

// Members that may go on together: draws must agree, and a best-first tree has an order of its own.
template <class Stats>
bool can_share(const MemberContext<Stats>& a, const MemberContext<Stats>& b, const Table& table) {
    auto draws = [&](const Rules& rules) {
        bool all = rules.max_features >= table.columns.size();
        return std::tuple(all, all ? 0 : rules.max_features, all ? 0 : rules.seed,
                          all ? 0 : rules.tree);
    };
    return a.rules->max_leaf_nodes == 0 && b.rules->max_leaf_nodes == 0 &&
           draws(*a.rules) == draws(*b.rules);
}

template <class Stats, class Sink>
class FamilyGrower {
public:
    using Nodes = MemberNodes<Stats, Sink>;
    static constexpr bool kHasGroups = Sink::serves_groups && Stats::serves_groups;

    FamilyGrower(const Table& table, const TargetView& view, Family& family,
                 const std::vector<const Stats*>& stats_of_members, Workers& workers)
        : table_(table), view_(view), family_(family), workers_(workers) {
        if (!Stats::serves_groups) family.sharing = Sharing::none;
        for (uint32_t member = 0; member < family.members.size(); ++member) {
            const Member& one = family.members[member];
            contexts_.push_back(
                {member, stats_of_members[member], &one.rules, one.demand.is_everything,
                 most_rows_at_once(table, one.rules,
                                   RowComparison<Stats>::serves(*stats_of_members[member])),
                 0.0});
        }
    }

    GrowResult<Sink> run() {
        result_.sinks.resize(contexts_.size());
        if (family_.sharing == Sharing::none && grows_beside()) {
            for (bool keeps_orders : {true, false}) grow_each(keeps_orders);
            return std::move(result_);
        }
        std::vector<bool> is_done(contexts_.size());
        for (size_t first = 0; first < contexts_.size(); ++first) {
            if (is_done[first]) continue;
            std::vector<MemberContext<Stats>*> together;
            for (size_t k = first; k < contexts_.size(); ++k) {
                bool joins =
                    k == first || (kHasGroups && !is_done[k] && family_.sharing != Sharing::none &&
                                   can_share(contexts_[first], contexts_[k], table_));
                if (!joins) continue;
                together.push_back(&contexts_[k]);
                is_done[k] = true;
            }
            if (together.size() >= kSharesPerWorker * n_workers() && grows_beside())
                grow_beside(together, n_workers());
            else
                grow_in(together, keeps_orders_of(*together[0]),
                        [&](Growth<Stats>& growth) { grow_together(growth, together, 0); });
        }
        return std::move(result_);
    }

private:
    // Which members each row trains.
    struct Strata {
        Patterns patterns;  // over the shares
        Words pattern_of;
        Words rows;  // those that train nobody are left out
    };

    using Contexts = std::vector<MemberContext<Stats>*>;

    size_t n_workers() const { return static_cast<size_t>(workers_.size()); }

    // Many trees of few rows: a worker for each task at a time, instead of all workers for one.
    bool grows_beside() const {
        return n_workers() > 1 && contexts_.size() >= kTreesPerWorker * n_workers() &&
               table_.n_rows < kRowsBeside &&
               table_.n_rows * table_.columns.size() <= kCellsPerWorker;
    }

    // One at a time.
    void grow_each(bool keeps_orders) {
        Contexts contexts;
        for (MemberContext<Stats>& context : contexts_)
            if (keeps_orders_of(context) == keeps_orders) contexts.push_back(&context);
        if (contexts.empty()) return;
        // What takes longest first, or one worker grows it while the others have nothing left.
        std::stable_sort(contexts.begin(), contexts.end(),
                         [&](auto* a, auto* b) { return expected_work(*a) > expected_work(*b); });
        grow_beside(contexts, contexts.size());
    }

    // As so many tasks, each of which grows a part of the members together.
    void grow_beside(const Contexts& contexts, size_t n_tasks) {
        grow_in(contexts, keeps_orders_of(*contexts[0]), [&](Growth<Stats>& growth) {
            growth.in_tasks = true;
            workers_.for_each(n_tasks, [&](size_t task, int worker) {
                auto at = [&](size_t k) {
                    return contexts.begin() + static_cast<ptrdiff_t>(contexts.size() * k / n_tasks);
                };
                grow_together(growth, Contexts(at(task), at(task + 1)), worker);
            });
        });
    }

    // More of a whole tree is grown than of one that some rows ask.
    std::pair<bool, size_t> expected_work(const MemberContext<Stats>& context) const {
        return {context.asks_everything, family_.members[context.index].rows.size()};
    }

    bool keeps_orders_of(const MemberContext<Stats>& context) const {
        uint64_t n_columns = table_.columns.size(), n_tried = context.rules->max_features;
        if (n_tried >= n_columns) return true;
        bool is_coarse = CoarseToFine<Stats>::serves(*context.stats, *context.rules, table_.n_rows);
        return !is_coarse && n_tried * kKeepShare >= n_columns;
    }

    // Grows some members by one plan.
    template <class Grow>
    void grow_in(const std::vector<MemberContext<Stats>*>& contexts, bool keeps_orders,
                 Grow&& grow) {
        uint64_t done = workers_.done();  // when these trees have grown, some leaves uncounted
        for (const MemberContext<Stats>* context : contexts) {
            done += family_.members[context->index].rows.size();
            result_.sinks[context->index] = start_sink(*context);
        }
        Growth<Stats> growth(table_, plan_for(keeps_orders), workers_);
        if (family_.questions) growth.questions = &*family_.questions;
        if (view_.n_classes > 0)
            growth.n_unkept_rows =
                find_unkept_rows(growth.plan, static_cast<size_t>(view_.n_classes));
        grow(growth);
        for (const WorkerScratch<Stats>& mine : growth.scratches) result_.work.merge(mine.work);
        result_.work.peak_bytes = std::max(result_.work.peak_bytes, growth.meter.peak());
        workers_.advance(0, done - std::min(done, workers_.done()));
    }

    std::unique_ptr<Sink> start_sink(const MemberContext<Stats>& context) const {
        size_t n_values = Stats::is_classification ? context.stats->width() : 1;
        if constexpr (std::is_same_v<Sink, AnswerSink>)
            return std::make_unique<Sink>(std::make_shared<Answers>(
                family_.members[context.index].demand.rows.size(), n_values));
        else
            return std::make_unique<Sink>(n_values, !context.stats->counts_rows(), table_);
    }

    const Plan& plan_for(bool keeps_orders) {
        if (!owner_ || owner_->plan().keeps_orders != keeps_orders)
            owner_ = std::make_unique<PlanOwner>(
                table_, PlanWishes{view_.n_classes, keeps_orders, contexts_.size() == 1}, workers_);
        return owner_->plan();
    }

    void grow_together(Growth<Stats>& growth, const std::vector<MemberContext<Stats>*>& contexts,
                       int worker) {
        Sinks<Sink> sinks(contexts_.size(), nullptr);
        for (const MemberContext<Stats>* context : contexts)
            sinks[context->index] = result_.sinks[context->index].get();
        std::vector<uint32_t> asked;
        std::vector<Share<Stats>> shares(contexts.size());
        for (size_t k = 0; k < contexts.size(); ++k) {
            const Member& member = family_.members[contexts[k]->index];
            Share<Stats>& share = shares[k];
            share.member = contexts[k];
            share.asked_begin = asked.size();
            asked.insert(asked.end(), member.demand.rows.begin(), member.demand.rows.end());
            share.asked_end = asked.size();
            share.stack_words = member.rows.size();
            share.record = sinks[contexts[k]->index]->add_nodes(1);
        }
        std::optional<Strata> strata = sum_shares(shares);
        Nodes nodes(growth, std::move(asked));
        shares = close_leaves(nodes, std::move(shares), sinks, worker);
        if (shares.size() == 1)
            grow_alone(nodes, shares[0], sinks, worker);
        else if (!shares.empty())
            grow_group(nodes, std::move(shares), std::move(strata), sinks, worker);
        keep_order(nodes.asked(), contexts, sinks);
    }

    // Those who ask stand member after member, and are numbered within theirs.
    void keep_order(std::span<const uint32_t> asked,
                    const std::vector<MemberContext<Stats>*>& contexts, Sinks<Sink>& sinks) const {
        uint32_t begin = 0;
        for (const MemberContext<Stats>* context : contexts) {
            auto n_asking =
                static_cast<uint32_t>(family_.members[context->index].demand.rows.size());
            std::span<const uint32_t> own = asked.subspan(begin, n_asking);
            std::vector<uint32_t> places(own.begin(), own.end());
            for (uint32_t& place : places) place -= begin;
            sinks[context->index]->keep_order(std::move(places));
            begin += n_asking;
        }
    }

    // Describes the roots; those that go on are left.
    std::vector<Share<Stats>> close_leaves(Nodes& nodes, std::vector<Share<Stats>> shares,
                                           Sinks<Sink>& sinks, int worker) {
        for (Share<Stats>& share : shares) {
            MemberContext<Stats>& context = contexts_[share.member->index];
            nodes.describe(share, context, rows_to_describe(context), *sinks[context.index],
                           worker);
            context.root_weight = share.description.weight;
            nodes.count_stack(share, context, worker);
            if (nodes.is_leaf(share, context, 0))
                nodes.close_leaf(share, *sinks[context.index], worker);
        }
        std::erase_if(shares, [&](const Share<Stats>& share) {
            return nodes.is_leaf(share, *share.member, 0);
        });
        return shares;
    }

    // Classes are described by their counts alone.
    std::span<const uint32_t> rows_to_describe(const MemberContext<Stats>& context) {
        if constexpr (Stats::is_classification) return {};
        return family_.members[context.index].rows.list();
    }

    static uint64_t key_of(const Rules& rules) { return root_key(rules.seed, rules.tree); }

    void grow_alone(Nodes& nodes, Share<Stats>& share, Sinks<Sink>& sinks, int worker) {
        Growth<Stats>& growth = nodes.growth();
        Layout layout =
            lay_out_rows(growth, std::move(family_.members[share.member->index].rows.list()));
        Metered bytes(growth.meter, layout.nbytes());
        NodePointer<Stats> root = Nodes::make_root(share, *share.member, layout);
        root->key = key_of(*share.member->rules);
        if (!growth.in_tasks) growth.n_root_rows = root->size();
        Loop(nodes).run(std::move(root), sinks, worker);
    }

    void grow_group(Nodes& nodes, std::vector<Share<Stats>> shares, std::optional<Strata> strata,
                    Sinks<Sink>& sinks, int worker) {
        if constexpr (kHasGroups) {
            Growth<Stats>& growth = nodes.growth();
            GroupNodes<Stats, Sink> groups(nodes, shares.size());
            GroupNode<Stats> root;
            root.key = key_of(*shares[0].member->rules);
            root.group = make_group(growth, std::move(shares), std::move(strata));
            if (!growth.in_tasks) growth.n_root_rows = root.n_rows();
            Loop(groups).run(std::move(root), sinks, worker);
        }
    }

    Layout lay_out_rows(Growth<Stats>& growth, Words rows) {
        Workers itself(1, nullptr);
        return lay_out(growth.plan, std::move(rows), view_.classes,
                       growth.in_tasks ? itself : workers_);
    }

    // Sets of few members are kept in few bits, so that those of all rows stay in a near cache.
    Strata stratify(const std::vector<Share<Stats>>& shares) const {
        return shares.size() <= 16 ? stratify_by<uint16_t>(shares) : stratify_by<uint64_t>(shares);
    }
    template <class Word>
    Strata stratify_by(const std::vector<Share<Stats>>& shares) const {
        constexpr size_t kBits = 8 * sizeof(Word);
        Strata strata;
        strata.patterns.reset(shares.size());
        size_t n_words = strata.patterns.n_words(), n_rows = 0;
        auto rows_of = [&](size_t k) {
            return family_.members[shares[k].member->index].rows.named();
        };
        auto bit_of = [](size_t k) { return static_cast<Word>(Word{1} << (k % kBits)); };
        std::vector<Word> start(n_words);  // those who have all rows but some
        for (size_t k = 0; k < shares.size(); ++k)
            if (!rows_of(k).do_train) start[k / kBits] |= bit_of(k);
        std::vector<Word> sets(table_.n_rows * n_words, start[0]);
        for (size_t at = 0; n_words > 1 && at < sets.size(); ++at) sets[at] = start[at % n_words];
        for (size_t k = 0; k < shares.size(); ++k)
            for (uint32_t row : rows_of(k).rows) sets[row * n_words + k / kBits] ^= bit_of(k);
        strata.rows.resize(table_.n_rows), strata.pattern_of.resize(table_.n_rows);
        LoneAbsence known(strata.patterns);
        auto intern = [&](uint32_t row) {
            if constexpr (sizeof(Word) == sizeof(uint64_t))
                return known.intern(sets.data() + row * n_words);
            uint64_t set = sets[row];
            return known.intern(&set);
        };
        for (uint32_t row = 0; row < table_.n_rows; ++row) {
            uint32_t pattern = intern(row);
            strata.rows[n_rows] = row;
            strata.pattern_of[n_rows] = pattern;
            n_rows += pattern != Patterns::kNone;
        }
        strata.rows.resize(n_rows), strata.pattern_of.resize(n_rows);
        return strata;
    }

    // What the roots add up to: of members that share their rows, each row is added once, to its stratum. Returns the strata,
    // if they were needed.
    std::optional<Strata> sum_shares(std::vector<Share<Stats>>& shares) {
        if (shares.size() == 1 || !adds_up(shares)) {
            for (Share<Stats>& share : shares)
                share.totals =
                    share.member->stats->sum_rows(family_.members[share.member->index].rows.list());
            return {};
        }
        Strata strata = stratify(shares);
        const Stats& stats = *shares[0].member->stats;
        size_t width = stats.width(), n_patterns = strata.patterns.size();
        std::vector<int64_t> n_rows(n_patterns);
        std::vector<typename Stats::Slot> slots(n_patterns * width);
        add_each(
            stats, strata.rows, [&](size_t k) { return strata.pattern_of[k]; }, n_rows,
            slots.data());
        for (size_t share = 0; share < shares.size(); ++share) {
            typename Stats::Totals& totals = shares[share].totals = stats.sum_rows({});
            for (uint32_t pattern = 0; pattern < n_patterns; ++pattern) {
                if (!strata.patterns.has(pattern, share)) continue;
                totals.rows += n_rows[pattern];
                for (size_t k = 0; k < width; ++k) totals.slots[k] += slots[pattern * width + k];
            }
        }
        return strata;
    }

    // Does a row add the same to everybody's statistics?
    bool adds_up(const std::vector<Share<Stats>>& shares) const {
        if constexpr (!kHasGroups)
            return false;
        else
            return family_.sharing == Sharing::folds &&
                   std::all_of(shares.begin(), shares.end(), [&](const Share<Stats>& share) {
                       return share.member->stats->has_weights_of(*shares[0].member->stats);
                   });
    }

    std::shared_ptr<Group<Stats>> make_group(Growth<Stats>& growth,
                                             std::vector<Share<Stats>> shares,
                                             std::optional<Strata> strata) {
        auto group = std::make_shared<Group<Stats>>();
        if (!strata || strata->patterns.n_members() != shares.size())  // some roots are leaves
            strata = stratify(shares);
        group->patterns = std::move(strata->patterns);
        group->pattern_of = std::move(strata->pattern_of);
        group->layout = lay_out_rows(growth, std::move(strata->rows));
        group->is_additive = adds_up(shares);
        group->shares = std::move(shares);
        group->bytes = Metered(growth.meter, group->nbytes());
        return group;
    }

    const Table& table_;
    const TargetView& view_;
    Family& family_;  // gives its rows away
    Workers& workers_;
    std::vector<MemberContext<Stats>> contexts_;
    std::unique_ptr<PlanOwner> owner_;
    GrowResult<Sink> result_;
};

template <class Sink, class Stats>
GrowResult<Sink> grow_members(const Table& table, const TargetView& view, Family& family,
                              const std::vector<const Stats*>& stats_of_members, Workers& workers) {
    return FamilyGrower<Stats, Sink>(table, view, family, stats_of_members, workers).run();
}

}  // namespace treefold
