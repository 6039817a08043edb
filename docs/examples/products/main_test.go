package main

func Example() {
	main()
	// Output:
	// 45 suspects
	// FR-93048 is listed as Kitchen and should be Office
	// CW-15516 is listed as Kitchen and should be Office
	// AQ-93075 is listed as Kitchen and should be Office
	// WN-29242 is listed as Kitchen and should be Garden
	// US-46817 is listed as Kitchen and should be Garden
	// ZI-27697 is listed as Kitchen and should be Office
	// TE-71354 is listed as Kitchen and should be Garden
	// MV-36523 is listed as Kitchen and should be Garden
}
