// Fits the constants of gemm_select.hpp to sweeps: fit FILE.csv...  Minimises the regret of the chosen plans (measured time
// of the choice over the best measured) plus a little of the prediction error.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gemm_select.hpp"

using namespace girih::cuda;

struct Row {
    GemmPlan plan;
    double us;
};
struct Case {
    GemmShape shape;
    std::string name;
    std::vector<Row> rows;
    double best = 1e9, lt_first = 0, lt_best = 0;
};

static double score(std::vector<Case>& cases, const CostModel& c, bool print) {
    double regret = 0, error = 0, g_first = 0, g_best = 0;
    std::size_t n = 0;
    for (Case& x : cases) {
        double least = 1e30, chosen = 0;
        const Row* pick = nullptr;
        for (const Row& r : x.rows) {
            const double p = predict(x.shape, r.plan, 132, c);
            if (p < least) least = p, chosen = r.us, pick = &r;
            if (r.us < 1.5 * x.best) error += std::fabs(std::log(p / r.us)), ++n;
        }
        const double l = std::log(chosen / x.best);
        regret += l + 4 * l * l;
        g_first += std::log(x.lt_first / chosen), g_best += std::log(x.lt_best / chosen);
        if (print) {
            const TileConfig t = kTiles[pick->plan.tile];
            std::printf("%-34s pick %dx%d%s%s c%dx%dx%d s%d pred %.2f meas %.2f best %.2f regret %.3f  vs lt %.3f %.3f\n", x.name.c_str(), t.rows, t.cols,
                        t.form == TileForm::PingPong ? "pp" : t.form == TileForm::ClusterSplit ? "s" : "", pick->plan.transposed ? "T" : "", pick->plan.cluster_rows, pick->plan.cluster_cols, pick->plan.cluster_split,
                        pick->plan.splits, least, chosen, x.best, chosen / x.best, x.lt_first / chosen, x.lt_best / chosen);
        }
    }
    if (print) std::printf("mean regret %.4f  mean |log err| %.4f  geomean vs first %.4f best %.4f\n", regret / cases.size(), error / n,
                           std::exp(g_first / cases.size()), std::exp(g_best / cases.size()));
    return regret / cases.size() + 0.1 * error / n;
}

int main(int argc, char** argv) {
    std::map<std::string, Case> by;
    for (int i = 1; i < argc; ++i) {
        FILE* f = std::fopen(argv[i], "r");
        char line[256], layout[8], type[8];
        while (f && std::fgets(line, sizeof line, f)) {
            long long m, n, k, b;
            int tile, tr, cr, cc, s, ks;
            double us, first, best;
            if (std::sscanf(line, "%2[^,],%lld,%lld,%lld,%lld,%7[^,],%d,%d,%d,%d,%d,%d,%lf,%lf,%lf", layout, &m, &n, &k, &b, type, &tile, &tr, &cr, &cc, &s, &ks, &us, &first, &best) != 15) continue;
            char name[64];
            std::snprintf(name, sizeof name, "%s %lldx%lldx%lld b%lld %s", layout, m, n, k, b, argv[i] + std::max<int>(0, int(std::strlen(argv[i])) - 8));
            Case& c = by[name];
            c.name = name;
            c.shape = {m, n, k, b, layout[0] == 'N' ? Major::K : Major::MN, layout[1] == 'T' ? Major::K : Major::MN};
            GemmPlan p;
            p.tile = tile, p.transposed = tr, p.cluster_rows = cr, p.cluster_cols = cc, p.splits = s, p.cluster_split = ks;
            if (!plan_allowed(c.shape, p)) continue;
            c.rows.push_back({p, us});
            c.best = std::min(c.best, us);
            c.lt_first = first, c.lt_best = best;
        }
    }
    std::vector<Case> cases;
    for (auto& [name, c] : by) cases.push_back(c);
    CostModel model;
    double* v = reinterpret_cast<double*>(&model);
    const int count = sizeof(CostModel) / sizeof(double);
    double best = score(cases, model, false);
    std::printf("start %.4f\n", best);
    const int seed = std::getenv("SEED") ? std::atoi(std::getenv("SEED")) : 7;
    std::mt19937 rng(seed);
    for (int step = 0; step < 16000; ++step) {
        CostModel trial = model;
        double* w = reinterpret_cast<double*>(&trial);
        const int moves = 1 + rng() % 3;
        for (int i = 0; i < moves; ++i) {
            const int which = rng() % count;
            if (which == 0 || which == 4 || which == 5 || which == 11 || which == 17 || which == 18) continue;  // measured on their own
            w[which] *= std::exp(std::normal_distribution<double>(0, step % 2 ? 0.05 : 0.25)(rng));
        }
        const double s = score(cases, trial, false);
        if (s < best) best = s, model = trial;
    }
    score(cases, model, true);
    std::printf("end %.4f\n", best);
    for (int i = 0; i < count; ++i) std::printf("%.4g, ", v[i]);
    std::printf("\n");
}
