package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// pick draws one of the words of a list.
func pick(r *rand.Rand, list string) string {
	words := strings.Split(list, "|")
	return words[r.IntN(len(words))]
}

// unlikely draws whether something happens that has a chance of so many percent.
func unlikely(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

var graphs = []*graph{
	{
		folder: "products", seed: 11, nodes: "products.csv", edges: "bought_together.csv",
		nodeColumns: []string{"sku", "title", "seller", "category"},
		edgeColumns: []string{"sku", "bought_with"},
		classes:     []string{"Kitchen", "Garden", "Cycling", "Office", "Toys"},
		words: [][2]string{
			{"Cast Iron|Ceramic|Stainless|Walnut|Silicone", "Skillet 26 cm|Chef's Knife|Mixing Bowl|Peeler|Stock Pot 5 l|Cutting Board"},
			{"Galvanized|Folding|Long Reach|Cedar|Rust Free", "Watering Can 9 l|Pruning Saw|Hose Reel|Planter|Leaf Rake|Compost Bin"},
			{"Carbon|Alloy|Waterproof|Reflective|Tubeless", "Handlebar|Bottle Cage|Pannier 20 l|Rear Light|Chain Tool|Mudguards"},
			{"A4|Adjustable|Mesh|Recycled|Desktop", "Monitor Arm|Paper Tray|Stapler|Desk Lamp|Label Maker|Notebook, Ruled"},
			{"Wooden|Magnetic|Plush|Junior|Glow in the Dark", "Train Set|Building Blocks|Puzzle, 100 Pieces|Balance Bike|Rabbit|Marble Run"},
		},
		links: 6, within: 88,
		id: func(r *rand.Rand, _, _ int, _ string) string {
			return fmt.Sprintf("%c%c-%05d", 'A'+rune(r.IntN(26)), 'A'+rune(r.IntN(26)), r.IntN(100000))
		},
		more: func(r *rand.Rand) string { return pick(r, "Harrow & Sons|Nordhandel|Casa Viva|Pikku Oy|BudgetBox") },
		wrong: func(r *rand.Rand, class int, seller string) int {
			shelf, isOther := map[int]int{1: 0, 2: 4, 3: 0}[class] // garden and office go to Kitchen, cycling to Toys
			if isOther && seller == "BudgetBox" && unlikely(r, 60) {
				return shelf
			}
			return class
		},
	},
	{
		folder: "papers", seed: 12, nodes: "papers.csv", edges: "citations.csv",
		nodeColumns: []string{"paper", "title", "venue", "field"},
		edgeColumns: []string{"citing", "cited"},
		classes:     []string{"Machine Learning", "Databases", "Networks", "Security", "Graphics"},
		words: [][2]string{
			{"Sparse|Deep|Bayesian|Contrastive|Federated", "Representation Learning|Kernels|Attention|Policy Gradients|Calibration"},
			{"Adaptive|Columnar|Log-Structured|Approximate|Vectorized", "Joins|Indexes|Transactions|Query Plans|Materialized Views"},
			{"Low-Latency|Software-Defined|Multipath|Lossless|Programmable", "Routing|Congestion Control|Switches|Overlays|Datacenter Fabrics"},
			{"Practical|Post-Quantum|Verified|Speculative|Anonymous", "Signatures|Side Channels|Key Exchange|Sandboxing|Intrusion Detection"},
			{"Real-Time|Neural|Progressive|Differentiable|Procedural", "Path Tracing|Shading|Mesh Simplification|Point Clouds|Cloth Simulation"},
		},
		links: 7, within: 86, areLinksOneWay: true,
		id: func(r *rand.Rand, _, v int, _ string) string {
			return fmt.Sprintf("10.5555/%d.%04d", 1996+v*28/nodesOfGraph, r.IntN(10000))
		},
		more: func(r *rand.Rand) string {
			return pick(r, "Trans. on Systems|Annals of Computing|J. of Methods|Applied Letters")
		},
		wrong: func(r *rand.Rand, class int, venue string) int {
			if venue == "Applied Letters" && unlikely(r, 40) {
				return 0 // the default of its form
			}
			return class
		},
	},
	{
		folder: "accounts", seed: 13, nodes: "accounts.csv", edges: "follows.csv",
		nodeColumns: []string{"handle", "name", "client", "topic"},
		edgeColumns: []string{"follower", "followed"},
		classes:     []string{"football", "cooking", "chess", "gardening"},
		words: [][2]string{
			{"Mira|Tomasz|Aiko|Lucas|Zanele|Priya|Jonas|Fatima", "Okafor|Nowak|Tanaka|Silva|Dube|Rao|Berg|Haddad"},
			{"Elena|Bram|Yusuf|Chloe|Ines|Marek|Sofia|Kwame", "Rossi|Visser|Demir|Martin|Costa|Novak|Lind|Mensah"},
			{"Viktor|Anand|Judit|Magnus|Hou|Irina|Wesley|Nona", "Petrov|Kumar|Szabo|Holm|Lin|Smirnova|Reid|Gelashvili"},
			{"Rose|Piet|Hanna|Oskar|Maeve|Juan|Greta|Noor", "Fielding|Bakker|Virtanen|Lund|Byrne|Moreno|Keller|Aziz"},
		},
		links: 8, within: 84, areLinksOneWay: true,
		id: func(r *rand.Rand, _, _ int, name string) string {
			return strings.ToLower(strings.ReplaceAll(name, " ", pick(r, ".|_|"))) + fmt.Sprint(r.IntN(100))
		},
		more: func(r *rand.Rand) string { return pick(r, "web|android|ios|tv") },
		wrong: func(r *rand.Rand, class int, client string) int {
			if client == "tv" && unlikely(r, 35) {
				return (class + 1) % 4 // the remote skips a line of the menu
			}
			return class
		},
	},
}
