package query

import "slices"

// A Page describes one statement, or conditions, for its user.
type Page struct {
	Name    string
	Usage   []string // its forms, those of a statement from the grammar
	Summary string   // one line
	Text    string   // what the summary leaves out
	Example string
}

// manual lists the statements by name.
var manual = []Page{
	{
		Name:    "accept",
		Summary: "decide that suggested labels are right, and take them",
		Text: `With a condition, accept decides on the suspects that meet the condition. A condition on score does not change
the threshold of the last run, as it does for suspects. With 'all where', accept decides on every scored node that
meets the condition. Decided
nodes are left out, unless the condition has the property decision. With 'limit N' these are the first N, highest
score first, as suspects lists them. accept shows the first ten nodes and their number, and asks. Without a terminal,
give --yes. If the label, suggestion, decision or run of a node changes before your answer, nothing is decided, and
the error names these nodes. The same happens if a condition behind 'if' is not true of a named node: accept 1042 if
label = 'Theory' and decision is null. A statement is one step, which undo takes back. The history keeps the time,
who, why, run and score of a decision. A decision stays after later runs of clean. A decided node is no suspect. A
node is disputed while the people who have decided on it name different labels, and no label has the most of them. It
keeps its label until another decision gives one label the most, or a decision with a reason settles it: accept
1042 because 'the title says so'.`,
		Example: "accept where score > 0.8 because 'seen on the plot'",
	},
	{
		Name:    "agreement",
		Summary: "how well people agree about the nodes that both have decided on",
		Text: `Prints two rows for each pair of people. verdict compares what they say of the label before all decisions: right, wrong
or unsure. label compares the labels that they name. nodes is the number of nodes that count, same the number on which both agree,
and share is same / nodes. Two people who draw labels at random agree too: compare the share with that of the largest class. The
last decision of each person counts.`,
		Example: "agreement",
	},
	{
		Name:    "audit",
		Summary: "how many labels are wrong, by a sample that chance drew",
		Text: `'audit draw 50' draws 50 labels for people to look at: graphcleaner audit shows them without their scores. Each label has
the same chance, and a later, larger number continues the same order. 'seed S' fixes the order; the default seed is 1. The
answers are decisions. audit prints the share of wrong labels, of the labels as they came, with an interval. It rests on
the first 25, 50, 100, 200, … draws, as soon as each of them is decided. The intervals of all these looks hold together
in at least 90% of audits. Disputed nodes, and those that somebody has unlabelled or put aside as unsure, count as right in
low and as wrong in high. The first row is of all labels. A class with fewer than ten decided draws has no rate. Its interval holds by
itself.
'audit draw for fdr 0.1' draws from the first suspects, as many as suspects fdr 0.1 wants, and 'audit draw for trusted fdr 0.05' from
the labels with the lowest scores. 'audit draw 50 for fdr 0.1' draws 50: with more draws, more suspects are listed. These draws do
not change the rate.`,
		Example: "audit",
	},
	{
		Name:    "classes",
		Summary: "the classes, with their share, homophily and suspects",
		Text: `Homophily is the share of labelled neighbours with the same label, over the labelled nodes of the class.
Self-confidence is the mean predicted probability of the given label. The column suspects counts the nodes that the
statement suspects lists without a condition. If all classes are numbers, they are sorted as numbers, else by bytes.
Columns of predictions without a header have the same order. Conditions are on the columns of this table.`,
		Example: "classes where nodes > 10 order by suspects desc limit 5",
	},
	{
		Name:    "clean",
		Summary: "score every labelled node and suggest labels",
		Text: `If the store has no predictions, clean first trains the built-in classifier. New scores replace the scores of
an earlier run when the new ones are complete. In a directed graph, direction chooses the neighbours that count. out: the
nodes that a node's edges lead to. in: the nodes whose edges lead to it. both, the default: all of them. The preset paper
is GraphCleaner as published. 'threshold T' sets the threshold. Without T, the threshold follows from the mislabel rate:
from an audit that has come to a look, else from R if you give 'expect R', else from the estimate. 'out of fold' says that
imported predictions have not seen the label of the node that they predict: they are joined with the built-in
classifier's. 'in sample' says that they have: they are left out. Without either, they are left out if they may have.
'as given' takes them as they are, and nothing is trained. The default seed is 1. Ctrl-C stops clean. The same
statement again continues from there.`,
		Example: "clean hops 2 preset paper",
	},
	{
		Name:    "count",
		Summary: "count suspects, nodes or decisions, in groups if asked",
		Text: `Groups are printed largest first, or as 'order by' says: by a property of the groups, by count, or by a total. Behind the
count, return prints totals of each group: min, max, avg and sum of a property. Null takes no part in them. avg and sum want
numbers. They are exact, and rounded once. Groups that memory does not hold wait in temporary files.`,
		Example: "count suspects group by label, suggested return avg(score) limit 10",
	},
	{
		Name:    "create",
		Summary: "index a property, so that conditions on it are fast",
		Text: `Queries use an index if it helps. plan shows the index that a query uses. Every write updates the index. id and
degree need none.`,
		Example: "create index on split",
	},
	{
		Name:    "describe",
		Summary: "all properties that can be asked, with their kinds and meanings",
		Text: `The properties of nodes are those of suspects, neighbors, count and decisions too. neighbors, history and classes have
properties of their own. indexed is true if a property has an index. decision is the decision in force: the first for
the label of the node, and not always the last decision. A class compares as text. .schema, .tables and show tables are
other names of describe.`,
		Example: "describe",
	},
	{
		Name:    "drop",
		Summary: "remove the index of a property",
		Text:    "Answers stay the same without it.",
		Example: "drop index on split",
	},
	{
		Name:    "explain",
		Summary: "why a node has its score",
		Text: `Prints the prediction, the agreement features, the labels of the neighbours, the neighbours that speak most for the
label and against it, and the score that the node would have with each other label.`,
		Example: "explain 1042",
	},
	{
		Name:    "history",
		Summary: "every decision made, or those on one node, oldest first",
		Text: `No entry is ever deleted. An undo is an entry of its own: its decision is undo, and its column undoes has the number of the
entry that it takes back. in_force is true of a decision that holds now: nobody has taken it back, its person has not
decided on the node again, and the node has the label that the decision names. Decisions of one statement have the same
step. from is the label before, to the label that the decision names. disputed is true if people disagree after the
entry. The decisions about a removed node stay, and its id finds them, but they hold no more. Conditions are on the
columns of the history. count history counts entries: count history where in_force group by who, decision.`,
		Example: "history where who = 'ann' order by time desc limit 10",
	},
	{
		Name:    "labels",
		Summary: "labels to train on, of which at most a given share is wrong",
		Text: `'labels trusted fdr 0.05' lists the labels with the lowest scores, of which at most 5% are wrong, with 90% confidence. Draws of an
audit show it, as for suspects fdr: 'audit draw for trusted fdr 0.05' draws them. Nobody had decided on a label of the list when it was
drawn; nodes where decision = 'accept' lists labels that people have decided on. The list has the labels as they are now.`,
		Example: "labels trusted fdr 0.05",
	},
	{
		Name:    "neighbors",
		Summary: "the nodes around a node, nearest first",
		Text: `The column hop is the distance from the node. The default of hops is 1. Conditions know the properties of the neighbours,
and hop, and what the graph has of direction, weight_out, weight_in or weight.`,
		Example: "neighbors 1042 hops 2 where score > 0.5 order by score desc limit 10",
	},
	{
		Name:    "node",
		Summary: "everything stored about a node, or about several",
		Text:    "Write an id without quotes. An id with spaces, quotes, commas, brackets or semicolons needs single quotes.",
		Example: "node 1042",
	},
	{
		Name:    "nodes",
		Summary: "list nodes",
		Text: `.help conditions says how to write a condition.
'sample N' draws N of the nodes at random, as for suspects. 'offset N' leaves out the first N rows. 'return *' has all properties. 'return distinct' has rows that are equal once.`,
		Example: "nodes where confidence > 0.5 and share(label, 1) < 0.2 and not neighbor(decision = 'accept') limit 20",
	},
	{
		Name:    "noise",
		Summary: "how often each class is given in place of another",
		Text: `The transition matrix that scores use: in the column of a true class, the probability of each given label. Below it are
the pairs of classes that are confused most, with joint, the expected share of all labels. Then comes the share of wrong
labels of each class and of all, as the model of the run estimates it. It may be far off: audit tells the share, and this one
follows it. Matrix and pairs stay as clean has fitted them. csv and tsv have one row a pair. json and jsonl have one object with
estimated_rate, estimated_rates, confused, and transition in the order of classes.`,
		Example: "noise",
	},
	{
		Name:    "plan",
		Summary: "how a query is answered, and what it reads",
		Text: `Runs the query. Shows the index, the condition that is tested on each row, the numbers of entries, rows and blocks
read, and the rows found.`,
		Example: "plan suspects where score > 0.5",
	},
	{
		Name:    "reject",
		Summary: "decide that given labels are right, and keep them",
		Text:    "The nodes are no longer suspects. Conditions, steps and history are as for accept.",
		Example: "reject 1042, 1043",
	},
	{
		Name:    "relabel",
		Summary: "give nodes a label of your choice",
		Text: `Conditions, steps and history are as for accept, but 'all where' includes nodes without a score, such as
unlabelled ones: relabel 'Theory' all where label is null.`,
		Example: "relabel 1042 'Theory'",
	},
	{
		Name:    "rescore",
		Summary: "bring the scores up to date after changes and decisions, without a new run",
		Text: `The nodes around all changes since the last run get new scores by its model; with full, all nodes do. A score is a
chance. unpredicted counts the nodes that have none, because they have no predictions and no classifier is kept. At a look of
an audit, all scores follow it, with the threshold; their order stays. The next clean learns from the decisions in full.`,
		Example: "rescore",
	},
	{
		Name:    "runs",
		Summary: "every run of clean",
		Text: `The last run made the scores in the store. predictions is where the predictions come from, and prediction_use
what clean did with imported ones. contradicted counts the suspects whose label neither the predictions nor the
neighbours put first. estimated_rate is the share of wrong labels as the model estimates it. It may be far off: audit tells
the share. rescorings is how often rescore has computed scores again.`,
		Example: "runs",
	},
	{
		Name:    "stats",
		Summary: "the size of the store and what it holds",
		Text: `Prints the numbers of nodes, edges, labels, columns, matrices and runs, and the bytes on disk. contradicted counts the
suspects of the last run whose label neither the predictions nor the neighbours put first. mislabel_rate is the share of
wrong labels that the last look of the audit tells, rate_low and rate_high are its interval, and mislabels_left is how
many wrong labels are left by it. They are empty before a look: graph and predictions do not tell them.
stale_scores counts the scores that are older than changes around them. classifier_unseen counts the nodes that were added since the
kept classifier was trained. classifier_agreement is the share of their labels that it predicts, and empty without such
labels.`,
		Example: "stats",
	},
	{
		Name:    "suspects",
		Summary: "nodes whose label is probably wrong, highest score first",
		Text: `.help conditions says how to write a condition.
A suspect scores above the threshold of the last run, has a suggested label other than its own, and nobody has
decided on it. A condition on score replaces the threshold. A condition on decision lists decided nodes too, but
no accepted ones: their label is the suggestion now. nodes where decision = 'accept' lists them. In a
condition with 'or', this holds for each alternative separately: label = 'A' or score > 0.5 lists nodes of A above the
threshold, and all others above 0.5. To find nodes with a high score whose suggestion is their own label, use nodes.
'where disputed' lists the nodes that people disagree about, and where decided_by = 'ann' the nodes that ann alone has
decided on, whatever their score.
fpr 0.05 sets a threshold that flags a right label with a probability of at most 0.05. fnr 0.1 sets a threshold that
misses a wrong label with a probability of at most 0.1. p R replaces the estimated mislabel rate. The number of scores, p
and the threshold λ are printed.
fdr 0.1 lists the first suspects, of which at most 10% are right, with 90% confidence. Draws of an audit show it: 'audit draw for
fdr 0.1' draws among the first suspects that nobody has decided on. How many are first is chosen by the scores, so that the list is
as long as draws can show. Where too many draws are right, there is no list, and the next one wants more draws. All lists up to the
first one that is shown have the confidence together. Unsure and disputed draws, and those whose label a file has changed, count as right.
'sample N' draws N of the rows at random. Look at them to estimate how many suspects really have a wrong label. The same seed
draws the same rows. The default seed is 1. A limit counts the rows of the sample.`,
		Example: "suspects where degree > 3 limit 20 return id, label, suggested, score",
	},
	{
		Name:    "undo",
		Summary: "take back your last step of decisions, or the last N",
		Text: `Labels and decisions are again as they were before. The history keeps the decision and its undo. Another undo
takes back the step before. If somebody else has decided on one of the nodes later, undo is refused, and names that
person and the node. Of a removed node only the history changes, and a notice says so.`,
		Example: "undo 2",
	},
	{
		Name:    "unlabel",
		Summary: "remove labels, and keep the nodes",
		Text:    "For wrong labels, if you do not know the right one. Conditions, steps and history are as for relabel.",
		Example: "unlabel where score > 0.9 and confidence < 0.3",
	},
	{
		Name:    "unsure",
		Summary: "put nodes aside undecided",
		Text: `The nodes keep their labels and leave the list of suspects. nodes where decision = 'unsure' lists them all. Conditions,
steps and history are as for accept.`,
		Example: "unsure 1042 because 'two fields at once'",
	},
}

// Conditions is the page on conditions.
var Conditions = Page{
	Name: "conditions",
	Usage: []string{
		"PROPERTY = VALUE             also != < <= > >=",
		"PROPERTY = PROPERTY          likewise: label != suggested, score > confidence",
		"PROPERTY in (VALUE, …)       one of the values",
		"PROPERTY between A and B     A, B, or something between them",
		"PROPERTY like 'graph%'       % stands for any characters, _ for one; ilike ignores case",
		"PROPERTY is null             there is no value",
		"PROPERTY                     alone, if it is true or false: disputed",
		"lower(PROPERTY) = 'graphs'   the text in lower case; also with != in like",
		"share(label, 2) < 0.2        the share of the labelled nodes within 2 hops that have this label",
		"neighbor(CONDITION, 2)       the condition is true of a node within 2 hops",
		"not C    C and C    C or C    (C)    not in    not like    not between    is not null",
	},
	Summary: "what may stand behind where, and behind if",
	Text: `describe lists the properties. Text needs single quotes: label = 'Theory'. Numbers do not. Names with odd characters need
double quotes: "old style" is null. A comparison with a missing value is neither true nor false.
share(suggested) is the share of the suggested label, and share('Theory') that of a class. Without a number, share and
neighbor are about 1 hop. share stands wherever a property stands, also in order by and return.
If one id is not an integer, all ids are text. Classes are always text. < <= > >= and between compare text by its bytes,
so '10' comes before '9'. Write text in quotes: id >= '100'.`,
	Example: `suspects where degree > 3 and decision is null
    nodes where confidence > 0.5 and share(label, 1) < 0.2
    nodes where degree between 5 and 10 and not neighbor(score > 0.5)`,
}

// Manual returns a page for every statement, in the order of their names.
func Manual() []Page {
	pages := slices.Clone(manual)
	rules, err := grammar()
	for i := range pages {
		if err == nil {
			pages[i].Usage = usageWriter{rules}.usages(pages[i].Name)
		}
	}
	return pages
}

// StatementNames returns the names of all statements, in order.
func StatementNames() []string {
	names := make([]string, len(manual))
	for i, m := range manual {
		names[i] = m.Name
	}
	return names
}
