// Package npy reads matrices from numpy's .npy and .npz files, row by row, and writes float32 .npy files.
//
// An .npy file holds one array: a header that gives its type, its order and its shape, then its values. An .npz file is
// a zip of them. Open takes one-dimensional ([n], read as [n×1]) and two-dimensional arrays of bool, integers, float16,
// float32 and float64 in either byte order, in C order and, outside of a compressed .npz, in Fortran order; and it
// takes the .npz of a scipy CSR matrix, the arrays data, indices, indptr and shape. Arrays of Python objects are
// refused: reading them means running code.
//
// Nothing is allocated because a header says so: sizes are held against the file first, and memory is bounded by a few
// rows and a few MiB of buffers, however large or however well compressed the file is. The values of an .npz are
// covered by the zip's checksums, which are verified when the last row has been read.
package npy
