// Package offheap allocates long arrays of numbers outside the Go heap, where they do not count for the garbage
// collector's headroom, in huge pages where the kernel grants them: with small pages, every read at a random place is a
// miss of the TLB as well. Pages that were never touched take no memory, so that an array may be made as long as it can
// get. Where a system has no such mappings, arrays are on the heap.
package offheap
