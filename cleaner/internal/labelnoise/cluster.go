package labelnoise

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Clusters of the features of a class.
const (
	mostClusters = 10
	leastCluster = 5 // nodes on average
	clusterSteps = 10
)

// spoilByCluster is noise whose rate differs by region: reliability of annotators does, within a class, by cluster of the
// features (Thapaliya and others, CANE, arXiv:2605.27913, who measure it of language models). The features of each class,
// scaled to length 1, are parted by k-means into ten clusters, fewer of a small class, as if each were the work of one
// annotator. Annotators drawn at random are careless, as many as the rate wants: (1+rate)/2 of their labels are wrong, of
// the last one fewer. Each of them takes the class for one other, drawn with equal chance.
func spoilByCluster(ctx context.Context, s *spoiling) error {
	if s.single() {
		return s.unable(0)
	}
	s.shuffle()
	clusters, err := s.cluster(ctx)
	if err != nil {
		return err
	}
	careless := s.carelessness(clusters)
	for _, v := range s.nodes {
		if c := &careless[s.Labels[v]][clusters[v]]; c.quota > 0 {
			c.quota--
			s.noisy[v] = c.becomes
		}
	}
	return nil
}

// A careless annotator has some labels left to make wrong, and one class to make of them.
type careless struct {
	quota   int
	becomes kv.Class
}

// carelessness is that of the annotator of each class and cluster.
func (s *spoiling) carelessness(clusters []uint8) [][mostClusters]careless {
	sizes, all := make([][mostClusters]int, s.Classes), make([][mostClusters]careless, s.Classes)
	for _, v := range s.nodes {
		sizes[s.Labels[v]][clusters[v]]++
	}
	type annotator struct{ class, cluster int }
	var annotators []annotator
	for y, sizes := range sizes {
		for k, size := range sizes {
			if size > 0 {
				annotators = append(annotators, annotator{y, k})
			}
		}
	}
	s.random.Shuffle(len(annotators), func(a, b int) { annotators[a], annotators[b] = annotators[b], annotators[a] })
	rest, rate := s.count, (1+s.noise.rate)/2
	for _, a := range annotators {
		// Rounded up, so that they suffice.
		c := &all[a.class][a.cluster]
		c.quota, c.becomes = min(int(math.Ceil(rate*float64(sizes[a.class][a.cluster]))), rest), kv.Class(a.class)
		rest -= c.quota
		for int(c.becomes) == a.class || !s.present[c.becomes] {
			c.becomes = kv.Class(s.random.IntN(s.Classes))
		}
	}
	return all
}

// cluster parts the nodes of each class by k-means: the cluster of every labelled node within its class [n]. The first
// centroids are the first nodes of the class as they were drawn.
func (s *spoiling) cluster(ctx context.Context) ([]uint8, error) {
	c, err := s.firstCentroids(ctx)
	if err != nil {
		return nil, err
	}
	clusters, moved := make([]uint8, len(s.Labels)), true
	for step := 0; step < clusterSteps && moved; step++ {
		moved = step == 0
		c.begin()
		err := rowstore.Each(ctx, s.Features, len(s.Labels), 1, func(rows kv.Range, values []float32) error {
			for v := rows.First; v < rows.End; v++ {
				y := s.Labels[v]
				if y == kv.NoClass {
					continue
				}
				k := c.add(y, values[int(v-rows.First)*c.width:][:c.width])
				moved = moved || clusters[v] != uint8(k)
				clusters[v] = uint8(k)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		c.end()
	}
	return clusters, nil
}

// centroids are those of the clusters of all classes.
type centroids struct {
	width       int
	first       []int     // [c+1] where those of each class begin
	means, sums []float64 // [clusters×width]
	squares     []float64 // [clusters] of the lengths of means
	counts      []float64 // [clusters] of what sums has
}

// firstCentroids takes as many for each class as it has clusters.
func (s *spoiling) firstCentroids(ctx context.Context) (*centroids, error) {
	sizes := make([]int, s.Classes)
	for _, v := range s.nodes {
		sizes[s.Labels[v]]++
	}
	c := &centroids{width: s.Features.Width(), first: make([]int, s.Classes+1)}
	for y, size := range sizes {
		c.first[y+1] = c.first[y] + min(max(size/leastCluster, 1), mostClusters)
	}
	all := c.first[s.Classes]
	c.means, c.sums = make([]float64, all*c.width), make([]float64, all*c.width)
	c.squares, c.counts = make([]float64, all), make([]float64, all)
	place, next := make(map[kv.NodeID]int, all), slices.Clone(c.first)
	for _, v := range s.nodes {
		if y := s.Labels[v]; next[y] < c.first[y+1] {
			place[v] = next[y]
			next[y]++
		}
	}
	err := rowstore.EachOf(ctx, s.Features, slices.Sorted(maps.Keys(place)), func(v kv.NodeID, row []float32) error {
		c.addTo(place[v], row)
		return nil
	})
	c.end()
	return c, err
}

// begin empties the sums.
func (c *centroids) begin() {
	clear(c.sums)
	clear(c.counts)
}

// add adds a row of a class to the cluster whose centroid is the nearest, the first of equals, and returns that.
func (c *centroids) add(y kv.Class, row []float32) (cluster int) {
	length, least := lengthOf(row), math.Inf(1)
	for k := c.first[y]; k < c.first[y+1]; k++ {
		distance := c.squares[k]
		if length > 0 {
			distance -= 2 * product(row, c.means[k*c.width:][:c.width]) / length
		}
		if distance < least {
			least, cluster = distance, k-c.first[y]
		}
	}
	c.addTo(c.first[y]+cluster, row)
	return cluster
}

// addTo adds a row, scaled to length 1.
func (c *centroids) addTo(k int, row []float32) {
	c.counts[k]++
	length := lengthOf(row)
	if length == 0 {
		return
	}
	sum := c.sums[k*c.width:][:c.width]
	for f, x := range row {
		sum[f] += float64(x) / length
	}
}

// end makes the means of what was added. A cluster that nothing was added to stays where it is.
func (c *centroids) end() {
	for k, count := range c.counts {
		if count == 0 {
			continue
		}
		c.squares[k] = 0
		for f := range c.width {
			mean := c.sums[k*c.width+f] / count
			c.means[k*c.width+f] = mean
			c.squares[k] += float64(mean * mean)
		}
	}
}

// leastForClusters is what the centroids take.
func leastForClusters(_ context.Context, p *Graph) (int64, error) {
	return 2 * 8 * mostClusters * int64(p.Classes) * int64(p.Features.Width()), nil
}
