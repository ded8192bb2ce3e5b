// SPDX-License-Identifier: BSD-3-Clause
// The layout of zones, their distribution, the blocks and the verification. The method as a whole is tested by the runs
// of bt_mz, all of which verify themselves.
#include "block.hpp"
#include "exact.hpp"
#include "layout.hpp"
#include "verify.hpp"
#include "zone.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

namespace bt_mz {
namespace {

TEST(Layout, zones_cover_the_mesh_and_grow_by_the_ratio_of_the_class) {
    for (const Problem &p : problems()) {
        const std::vector<ZoneShape> zones = make_zones(p);
        ASSERT_EQ(static_cast<int>(zones.size()), p.zones());
        long cells = 0;
        int widest = 0, narrowest = std::numeric_limits<int>::max();
        for (const ZoneShape &z : zones) {
            cells += z.cells();
            widest = std::max(widest, z.nx);
            narrowest = std::min(narrowest, z.nx);
            EXPECT_GE(std::min({z.nx, z.ny, z.nz}), 6) << p.name; // the dissipation needs two cells on each side
        }
        EXPECT_EQ(cells, static_cast<long>(p.cells_x) * p.cells_y * p.cells_z) << p.name;
        EXPECT_NEAR(static_cast<double>(widest) / narrowest, p.size_ratio, 0.4) << p.name;
    }
}

TEST(Layout, neighbours_are_mutual_and_have_faces_of_one_size) {
    for (const Problem &p : problems()) {
        const std::vector<ZoneShape> zones = make_zones(p);
        for (const ZoneShape &z : zones) {
            for (const Side s : {west, east, south, north}) {
                const ZoneShape &n = zones[static_cast<std::size_t>(z.neighbour[s])];
                EXPECT_EQ(n.neighbour[opposite(s)], z.number);
                EXPECT_EQ(n.face_cells(opposite(s)), z.face_cells(s));
            }
        }
    }
}

TEST(Layout, every_rank_gets_zones_and_the_load_is_balanced_where_it_can_be) {
    for (const Problem &p : problems()) {
        for (const int ranks : {1, 2, 3, 4}) {
            const std::vector<ZoneShape> zones = make_zones(p);
            const std::vector<int> owner = distribute(zones, ranks);
            std::vector<long> load(static_cast<std::size_t>(ranks), 0);
            long largest = 0;
            for (std::size_t z = 0; z < zones.size(); ++z) {
                load[static_cast<std::size_t>(owner[z])] += zones[z].cells();
                largest = std::max(largest, zones[z].cells());
            }
            EXPECT_GT(*std::min_element(load.begin(), load.end()), 0);
            const double mean = static_cast<double>(std::accumulate(load.begin(), load.end(), 0L)) / ranks;
            // The bound of this rule: 4/3 of the best distribution, which is at least the mean and the largest zone.
            EXPECT_LE(static_cast<double>(*std::max_element(load.begin(), load.end())),
                      4.0 / 3.0 * std::max(mean, static_cast<double>(largest)))
                << p.name << " on " << ranks;
        }
    }
    const std::vector<int> one_each = distribute(make_zones(*find_problem("S")), 4);
    EXPECT_TRUE(std::is_permutation(one_each.begin(), one_each.end(), std::vector<int>{0, 1, 2, 3}.begin()));
}

TEST(Block, division_solves_the_system) {
    Block b, c;
    double x[components] = {1, -2, 3, -4, 5}, r[components] = {};
    for (int m = 0; m < components; ++m) {
        for (int n = 0; n < components; ++n) {
            b.at[m][n] = m == n ? 3 : 1.0 / (2 + m + 2 * n);
            c.at[m][n] = m == n ? 1 : 0;
        }
    }
    Block inverse_check = b;
    for (int m = 0; m < components; ++m) {
        for (int n = 0; n < components; ++n) {
            r[m] += b.at[m][n] * x[n];
        }
    }
    divide(b, c, r); // c is the inverse now
    for (int m = 0; m < components; ++m) {
        EXPECT_NEAR(r[m], x[m], 1e-13);
        for (int n = 0; n < components; ++n) {
            double product = 0;
            for (int l = 0; l < components; ++l) {
                product += inverse_check.at[m][l] * c.at[l][n];
            }
            EXPECT_NEAR(product, m == n ? 1 : 0, 1e-13);
        }
    }
}

TEST(Zone, faces_are_copied_from_beside_one_side_to_the_other) {
    const Problem &p = *find_problem("S");
    const Constants constants(p, p.dt);
    const std::vector<ZoneShape> shapes = make_zones(p);
    Zone a(shapes[0], constants), b(shapes[0], constants);
    const Norms before = b.error_norms();
    std::vector<double> face(static_cast<std::size_t>(components * shapes[0].face_cells(west)));
    a.copy_out(east, face.data());
    EXPECT_NE(face.front(), 0);
    b.copy_in(west, face.data());
    EXPECT_NE(b.error_norms(), before);
    std::vector<double> back(face.size());
    b.copy_out(west, back.data()); // beside the side, so what was copied in is not there
    EXPECT_NE(back, face);
}

TEST(Zone, pieces_of_a_step_give_the_same_bits_as_the_whole) {
    const Problem &p = *find_problem("S");
    const Constants constants(p, p.dt);
    const ZoneShape shape = make_zones(p)[3];
    Zone whole(shape, constants), pieces(shape, constants);
    const int nz = shape.nz, ny = shape.ny;
    whole.derive(0, nz);
    whole.right_side(1, nz - 1);
    whole.solve_x(1, nz - 1);
    whole.solve_y(1, nz - 1);
    whole.solve_z(1, ny - 1);
    whole.add(1, ny - 1);
    for (int k = nz - 1; k >= 0; --k) {
        pieces.derive(k, k + 1);
    }
    for (int k = nz - 2; k >= 1; --k) {
        pieces.right_side(k, k + 1);
        pieces.solve_x(k, k + 1);
        pieces.solve_y(k, k + 1);
    }
    for (int j = ny - 2; j >= 1; --j) {
        pieces.solve_z(j, j + 1);
        pieces.add(j, j + 1);
    }
    EXPECT_EQ(whole.error_norms(), pieces.error_norms());
    EXPECT_EQ(whole.residual_norms(), pieces.residual_norms());
}

TEST(Verify, a_norm_that_is_off_is_named_with_its_distance) {
    const Problem &p = *find_problem("S");
    EXPECT_EQ(verify(p, p.steps, p.dt, p.residual, p.error).verdict, Verification::verified);
    Norms off = p.residual;
    off[4] *= 1 + 2e-8;
    const Verification v = verify(p, p.steps, p.dt, off, p.error);
    EXPECT_EQ(v.verdict, Verification::failed);
    EXPECT_NE(v.text.find("residual of the energy is"), std::string::npos) << v.text;
    EXPECT_NE(v.text.find("off by 2.00e-08"), std::string::npos) << v.text;
    EXPECT_EQ(v.text.find("density"), std::string::npos) << v.text;
    off[4] = p.residual[4] * (1 + 0.9e-8);
    EXPECT_EQ(verify(p, p.steps, p.dt, off, p.error).verdict, Verification::verified);
}

TEST(Verify, a_value_that_is_no_number_fails) {
    const Problem &p = *find_problem("S");
    Norms off = p.error;
    off[0] = std::nan("");
    EXPECT_EQ(verify(p, p.steps, p.dt, p.residual, off).verdict, Verification::failed);
}

TEST(Verify, other_steps_are_not_verified_and_another_time_step_fails) {
    const Problem &p = *find_problem("W");
    EXPECT_EQ(verify(p, 10, p.dt, p.residual, p.error).verdict, Verification::unchecked);
    const Verification v = verify(p, p.steps, 2 * p.dt, p.residual, p.error);
    EXPECT_EQ(v.verdict, Verification::failed);
    EXPECT_NE(v.text.find("the time step is 0.0016, and that of class W is 0.0008"), std::string::npos) << v.text;
}

} // namespace
} // namespace bt_mz
