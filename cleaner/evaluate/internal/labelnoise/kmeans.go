package labelnoise

import (
	"math"

	"github.com/graphcleaner/graphcleaner/kv"
)

// centroids are those of the clusters of all classes.
type centroids struct {
	width       int
	first       []int     // [c+1] where those of each class begin
	means, sums []float64 // [clusters×width]
	squares     []float64 // [clusters] of the lengths of means
	counts      []float64 // [clusters] of what sums has
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

// end makes the means of what was added, and empties the sums. A cluster that nothing was added to stays where it is.
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
	clear(c.sums)
	clear(c.counts)
}

// lengthOf is the Euclidean length of a row.
func lengthOf(row []float32) float64 {
	var square float64
	for _, x := range row {
		square += float64(float64(x) * float64(x))
	}
	return math.Sqrt(square)
}

// product is the inner product of a row and a vector.
func product(row []float32, with []float64) (sum float64) {
	for f, x := range row {
		if x != 0 {
			sum += float64(float64(x) * with[f])
		}
	}
	return sum
}
