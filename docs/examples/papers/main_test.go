package main

func Example() {
	main()
	// Output:
	// 39 suspects
	// 10.5555/2022.4157 is listed as Machine Learning and should be Databases
	// 10.5555/2003.2085 is listed as Machine Learning and should be Networks
	// 10.5555/2021.0930 is listed as Machine Learning and should be Databases
	// 10.5555/2018.9667 is listed as Machine Learning and should be Databases
	// 10.5555/1998.3018 is listed as Machine Learning and should be Databases
	// 10.5555/2003.3810 is listed as Machine Learning and should be Databases
	// 10.5555/2017.3195 is listed as Machine Learning and should be Networks
	// 10.5555/2004.1912 is listed as Machine Learning and should be Security
}
