// Package ops aggregates over the hops of a graph kept on disk, under a memory budget: degrees, normalized
// propagation, the diagonals of its powers, neighbourhoods. It reads adjacency block by block through Graph, and knows
// nothing of what its columns mean. Package block does the same where no process holds the whole graph.
//
// There are two doors. Degrees, Propagate and ComputeDiagonals compute something of all nodes. OperatorRows and
// Neighborhood walk around one node.
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
// # Weighted graphs
//
// A_vu is the weight of the entry u in the list of v: 1, unless the Graph is a WeightedGraph. D are the degrees, or the
// sums of weights. If Operator has SelfLoops, A+I replaces A, so every sum grows by 1. The sums are float64 and take
// 8·n bytes. The products of weight and value are exact in float64, and are added in ascending neighbour order. The
// diagonals of such graphs follow every closed walk: see ComputeDiagonals. A directed graph is taken as the undirected
// one that its arcs make.
//
// # Propagation
//
// Propagate cuts the columns into tiles of w ≤ 32 and runs all K hops of a tile before the next, so that no dense
// matrix is ever held. Between hops a tile holds D^(-1/2)x, so that a hop is a plain sum over neighbours. A row is
// summed in ascending neighbour order in float64 and rounded to float32 once a hop. Clearing the diagonal needs X
// again: its columns are kept if memory is left (KeepInputs), else read again, range by range.
//
// Two tiles take 8·n·w bytes. If they do not fit, a hop writes its tile to a scratch array. If one tile does not fit,
// its rows are read in stripes, in ascending order, and a scratch array keeps partial sums. Plan chooses the width, the
// strategy and the workers, and whether to keep the decoded adjacency (4 bytes an entry).
//
// Hop 1 of labels reads less than a whole row for each edge: 8 bytes, the neighbour's column and scale.
//
// Sums run in kernels in assembly where a processor has AVX2. Kernels in Go, for all others and under the build tag
// purego, give the same bits.
//
// # Diagonals
//
// Walks of two steps have a closed form in Σ δ. Those of three are triangles, each of which is found once, from its
// node of lowest or second lowest degree. Sums that several workers add to are in fixed point, so the order of
// additions does not matter. Walks of four and five steps are followed from each node. The steps are counted first;
// above MaxSteps the work is refused.
//
// # Series
//
// Operators that run one after another on the same graph take a Series of it: they read the degrees once, and lists
// that one of them has decoded and kept are there for the next.
//
// # Memory and determinism
//
// Options.MemoryBudget decides the plan of a propagation, how much adjacency is held at a time and, if need be, how
// many workers run. If it is too small, the error is a *BudgetError with the least budget. The budget, the number of
// workers and the blocks of the graph change no bit of a result.
//
// # Stages
//
// Options.OnStage is told of the stages "degrees" and "price", of "diagonal" for each hop from 2 on, and of "propagate"
// for each hop and tile, with Columns columns. Edges is m; a stage walks both directions of them. The seconds of stages
// do not overlap.
package ops
