package main

func Example() {
	main()
	// Output:
	// 52 suspects
	// magnus.gelashvili29 is listed as gardening and should be chess
	// viktorsmirnova7 is listed as gardening and should be chess
	// judit.lin4 is listed as gardening and should be chess
	// irina.gelashvili20 is listed as gardening and should be chess
	// hou.holm37 is listed as gardening and should be chess
	// irinareid62 is listed as gardening and should be chess
	// chloedemir28 is listed as chess and should be cooking
	// kwamenovak28 is listed as chess and should be cooking
}
