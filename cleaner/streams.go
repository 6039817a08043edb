package cleaner

// Second words of the PCG seeds, so that the parts of a run that share a seed draw independent numbers; packages
// confident, paper and labelnoise have one each.
const (
	streamSample uint64 = 0x73616d70 // "samp"
	streamSplit  uint64 = 0x73706c74 // "splt"
	streamBase   uint64 = 0x62617365 // "base"
)
