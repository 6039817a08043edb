// Package ops aggregates over the hops of a graph kept on disk, under a memory budget: degrees, normalized
// propagation, the diagonals of its powers, neighbourhoods. It reads adjacency block by block through Graph, and knows
// nothing of what its columns mean.
//
// n is the number of nodes, m of undirected edges, c of columns, K of hops.
//
//	A             [n×n]  adjacency of the simple undirected graph; read in blocks, seldom held
//	d, Degrees    [n]    degrees; δ_u = 1/d_u
//	Ã             [n×n]  D^(-1/2) A D^(-1/2); the row of an isolated node is zero
//	Diagonals     [n]    diag(Ã^k), k = 1..K ≤ 5: the chance of a random walk to be back after k steps
//	X, Source     [n×c]  dense input, a row a node by NodeID, read in tiles
//	S_k X, Tile   [n×c]  Ã^k X − diag(Ã^k)∘X, k = 1..K: no node is its own neighbour at any hop
//
// # Directed and weighted graphs
//
// A_vu is the weight of the entry u in the list of v: 1, unless the Graph is a WeightedGraph. Of a Digraph A is not
// symmetric. With D_out the sums of its rows and D_in those of its columns
//
//	Ã = D_out^(-1/2) A D_in^(-1/2)
//
// in which entries of rows and columns without weight are zero: row v gathers from the nodes in its list. Elsewhere both
// are D, the degrees or strengths. Self loops, where Operator asks for them, add I to A and so 1 to every sum. The
// sums are kept in float64, 8·n bytes or, of a Digraph, 16·n, and a row's products of weight and value, which are exact
// in float64, are added in ascending neighbour order. The diagonals of such graphs follow every closed walk: see
// ComputeDiagonals.
//
// # Propagation
//
// Propagate cuts the columns into tiles of w ≤ 32 and runs all K hops of a tile before the next, so that no dense
// matrix is ever held. Between hops a tile holds D^(-1/2)x, so that a hop is a plain sum over neighbours. A row is summed
// in ascending neighbour order in float64 and rounded to float32 once a hop. Clearing the diagonal needs X again: it is
// read again, range by range.
//
// Where two tiles, 8·n·w bytes, are too many, the tile that a hop writes goes to a scratch array; where one is, its rows
// are read in stripes, ascending, with the sums begun kept in a scratch array. Plan weighs width, strategy, workers and
// keeping the decoded adjacency (4 bytes an entry) against each other.
//
// Two hops cost less than a row an edge. Hop 1 of labels reads a mark of 8 bytes, the node's column and scale, in place
// of a row. The last hop reads only groups of four columns with a wanted one.
//
// Sums run in AVX2 kernels in assembly where a processor has it. Kernels in Go, for all others and under the build tag
// purego, give the same bits.
//
// # Diagonals
//
// Walks that only go back and forth have closed forms in Σ δ. What is left for k = 3, 4, 5 are cycles, each found once:
// a triangle from its node of lowest degree, the others from that of highest. Sums that several workers add to are kept
// in fixed point, where the order of additions does not matter. The work is known beforehand as a Price, and refused
// above Options.MaxPrice. SampleDiagonals, asked for by name, estimates the cycles from a number of samples a node and
// tells their standard errors.
//
// # Memory and determinism
//
// Options.MemoryBudget sets the plan of a propagation, how much adjacency is held at a time and, if need be, how many
// workers run; what cannot be done within it is a *BudgetError with the least budget that would do. Neither the budget
// nor the number of workers nor the blocks of the graph change a bit of any result.
//
// # Stages
//
// Options.OnStage is told of "degrees", "price", "diagonal" and "sample" (one a hop from 2 on) and "propagate" (one a hop
// and tile, of Columns columns). Edges is m, of which a stage walks both directions. The seconds of stages do not
// overlap.
package ops
