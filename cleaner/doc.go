// Package cleaner finds mislabelled nodes in a stored graph and suggests labels for them.
//
// It implements GraphCleaner (Li, Xiong, Hooi: "GraphCleaner: Detecting Mislabelled Samples in Popular Graph Learning
// Benchmarks", ICML 2023, arXiv:2306.00015) over a store of package kv, with the operators of package ops.
//
//	run, err := cleaner.Clean(ctx, store, cleaner.Options{})
//
// scores every labelled node, and leaves in the store what queries ask for: the columns score, suggested, confidence
// and run.
//
// # Symbols
//
// n is the number of nodes, c of classes, K of hops. Rows are nodes by NodeID, columns classes in the order of
// kv.Tx.Classes.
//
//	ỹ        given label        [n]          the label in the store, kv.NoClass if there is none
//	y*       true label         [n]          latent
//	Y        labels             [n×c]        one-hot ỹ; the row of an unlabelled node is zero
//	P        Predictions        [n×c]        a classifier's probabilities, rows sum to 1
//	S_k      ops.Operator       [n×n]        k-th power of D^(-1/2) A D^(-1/2), diagonal cleared; streamed, never held
//	Q[i][j]  Run.Joint          [c×c]        P(ỹ = i, y* = j)
//	Q[i|j]   Run.Transition     [c×c]        P(ỹ = i | y* = j)
//	p        Run.MislabelRate   (0,1)        share of wrong labels, as the model estimates it
//	Z        Features           [n×(2K+1)]   how far the label under test agrees with what is around the node
//	s        score              [n] in [0,1] the answer: the given label is wrong
//	τ        Run.Threshold      (0,1)        a suspect has s > τ; see Suspects for the rest
//
// # Directed and weighted graphs
//
// A directed graph is cleaned as the undirected one of weights A_vu + A_uv, with A_vu the weight of the arc v→u; of
// weights 1 if it is unweighted and either arc is there. Rows without weight are zero. The property degree counts
// neighbours, whatever the weight.
//
// # The pipeline
//
// The built-in base classifier predicts each node without the label of that node. So the fitting set is all labelled
// nodes, if that classifier learns from 8 or more; by Options.Method too, unless a split is given.
// Else it is those of the validation split: the classifier was not trained on them, so what it predicts for them is
// honest. If the store has no split, or the fitting set does not suffice, a split is drawn.
//
// A node is untaught if the base classifier has learned from no other node with its label: those of the training
// split and of no split, or all where the built-in classifier has no split. So predictions say nothing about that
// label. Only the labels around the node count for its score, and the node is not in the fitting set. Clean reports
// the classes of such nodes to Options.Notice. If all nodes of the store are in the validation and test splits, the
// classifier has learned elsewhere, and no node is untaught.
//
//  1. Predictions. The store's own, imported through a PredictionWriter or set by SetPredictions; if there are none,
//     Predict trains the built-in base classifier on the labels outside the validation and test splits and writes them.
//
//  2. Agreement features. For the label y under test of node v, in this order,
//
//     P[v][y], (S_1 P)[v][y] … (S_K P)[v][y], (S_1 Y)[v][y] … (S_K Y)[v][y]
//
//     Labels under test are the given ones, and those that they are compared with. Y is always the given labels: a
//     label under test changes its own features only. Clearing the diagonal keeps a label from voting for itself over a
//     closed walk. All labels under test share one propagation.
//
//  3. Score, by the label model or Options.Method.
//
//  4. Suggestion. Of a label with a score by the label model, the likeliest other class; its posterior is the
//     confidence. Else the class with the largest prediction, and that. Ties go, in this order, to the class of most
//     neighbours, the given label, the class of most nodes, and the first name. Every node has a suggestion. It is
//     never applied unless somebody accepts it.
//
// With the label model, P is not always the stored predictions. If these come from outside, the built-in classifier is
// trained too, and both are joined (CombinedMatrix, Run.PredictionUse). Outside predictions that were trained on the
// labels of their nodes are left out: Options.Imported says whether they were, or else the labels that the built-in
// classifier contradicts. With AsGiven, outside predictions are P as they are, and nodes may lack them. Such a node
// has no score, suggestion or confidence, and nothing is fitted on it. Its label still counts for the nodes around
// it.
//
// The label model gives the posterior of the true class (Run.Model). Package paper has GraphCleaner as published.
//
//	P(y* = k | x)      ∝ exp(α_k + Σ_f β_f log(ε + Z_f[v][k]))     f of P0 and L1 … LK; β ≥ 0
//	P(ỹ = i | y* = k)  = r[k][i] for i ≠ k, 1 − Σ_i r[k][i] for i = k
//	score              = σ(a + b · logit P(y* ≠ ỹ | x, ỹ))         b = 1 before an audit
//	Q[i|k]             = r[k][i]
//
// α_k is how far the predictions fall short of a class. P1 … PK are not computed: the predictions of the neighbours
// have learned the label under test. α, β and the rates r of pairs of classes are fitted together, by expectation
// maximization, to the given labels of nodes whose label was not used to train their prediction: all labelled nodes
// if the base classifier was cross-fitted, else the validation and test splits. Nothing is planted. A class is
// believed to have 2 wrong labels of 30 before any is seen. If the predictions tell too little of the labels, all
// pairs have one rate (Run.Model.Alike). A label is tested against four other classes: the three with the largest
// predictions (ties as for the suggestion), and, of the rest, the class of most neighbours.
//
// Some labels are wrong at nodes where everybody would doubt. Labels, graph and predictions cannot distinguish them
// from right labels that are hard to judge, so how many labels are wrong is not known without looking at some. a
// gives the scores the mean of Options.Expect; without it, a is 0. τ is the threshold with the greatest expected F1,
// unless Options.Threshold sets it. Once an audit has come to a look, a, b and τ follow the audit: see [Rescore]. The
// suggestion is the likeliest other class, and its confidence the posterior of that. Clean uses decided labels as the
// truth: rows whose true class is known.
//
// # How many labels are wrong
//
// [DrawAudit] draws labels by chance, people decide about them, and [ReadAudit] tells the share of wrong labels with
// an interval that holds. Before that, Run.Contradicted counts the suspects that the predictions and the neighbours
// contradict, and says nothing of how many labels are wrong.
//
// # Graphs that change
//
// The model of the last run stays in the store. [Score] computes the score of single nodes by it, as the graph is in
// a snapshot, and [Rescore] brings the stored scores up to date with everything that has changed: labels, edges,
// predictions, nodes. What was fitted stays: model, ranks of the classes, which classes the classifier has learned.
// The built-in classifier stays too, as [Predict] trained it, or Clean beside predictions from outside: it predicts
// nodes that were added, in Predict, Clean, Rescore and Score. If it was joined, an added node with a row from
// outside gets the joined row; one without gets the classifier's. A class that was first used after the run is not
// known to its model: labels of it are not scored, and have no vote. [CountStale] counts the scores that are older
// than changes around them.
//
// The method works best if neighbours mostly have the same label: [Statistics] measures this. Package evaluate measures
// how well it finds wrong labels that are made on purpose.
//
// # Thresholds with guarantees
//
// Package conformal chooses thresholds that bound the share of right labels that are flagged, or of wrong labels that
// are missed.
//
// # What a run leaves
//
// Clean writes, visible all at once:
//
//	score       single  [n]         null if unlabelled; indexed
//	suggested   class   [n]
//	confidence  single  [n]
//	run         int     [n]         Run.ID
//	combined_predictions  [n×c]     P, where predictions from outside were joined with the built-in classifier's
//
// The Run has the options and the label model. With the model, Explain computes the score of every other label.
// Run.Warnings says why scores may be less reliable than they look. A run describes the store as it was when the run
// began, or at the last Rescore; [ChangesSince] lists the changes since.
//
// # Runs that were made elsewhere
//
// A graph that no store holds can be cleaned in pieces: see [Piece]. Suspects and the nodes around them then make a
// store in which people decide. A [RunWriter] gives it the run and the scores: Run.Elsewhere. Nothing scores nodes
// from a part of the graph, until Clean makes a run of the part. [Verdicts] are what the next run of the whole graph
// is to know.
//
// # Decisions
//
// Package decide keeps what people decide about labels, in a history that is only ever added to. [Undo] takes steps
// back, [Check] compares the history with labels and decisions, and [Repair] repairs them. Runs and imports of
// predictions do not write them.
//
// # In pieces
//
// A graph may lie on many machines. [TakeCensus], [Piece], [FitModel] and [PieceScorer] do what Clean does with
// the label model and AsGiven, each with a part of the data that the caller has brought together: labels and splits of
// all nodes, some rows of predictions, the votes around some nodes, or some features. They know no graph: S_k Y is
// the caller's. Nodes are numbered by their position in the node file. The scores are those of Clean but for the
// rounding of sums.
//
//	census, splits, members, err := TakeCensus(labels and splits of all nodes)
//	Piece.Tested     the labels under test, whose features PickFeatures takes from rows of P and of S_k Y
//	FitModel         the model, from features and votes of the members
//	PieceScorer      the scores of a piece
//
// # Determinism and memory
//
// The same store, options and seed give the same bits at any number of workers and any memory budget, and on any
// processor: diagonals, built-in predictions, features, models and scores. Some processors fuse a product and a sum;
// a conversion, as in a + float64(b*c), forbids this. On some, package math is assembly with other last bits:
// exponentials and logarithms come from internal/elementary. What may differ between processors is the last digits of
// the intervals of an audit, and so, very rarely, the length of a list with a promise: both follow from beta functions.
// Random numbers are drawn in the order of the node file. With given predictions, the order of the classes changes only
// the rounding of sums in the label model.
//
// No [n×c] matrix is held. Predictions are read in blocks of rows. Propagation runs in tiles of columns, and the
// features take one column of each row. Memory grows with n alone: labels and splits, five bytes a node, and the
// arrays of package ops. Z, scores, diagonals and other arrays that are read in
// order lie in files of package scratch. If a budget is too small for the rest and one column of a tile, the work is
// refused before it begins, with an *ops.BudgetError that has the least budget. Matrices between classes count too.
// They take at most 34 MB; above 65,536 classes, 512 bytes a class instead. Package paper, and a method of package
// evaluate, have matrices of c² numbers, three at most: 24 MB for 1,000 classes, and 9.6 GB for 20,000.
//
// # Interrupted runs
//
// Clean keeps the diagonals, which take the time of a large graph, in the directory of kv.Store.Work, until the graph
// changes. After a cancel or a kill, the same Clean takes them, and predictions that it has written, and comes to the
// same bits, with any budget and number of workers. Missing or damaged files are computed again.
package cleaner
