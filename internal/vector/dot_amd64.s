#include "textflag.h"

// func dotsAVX2(query *int16, rows *int8, n, stride int, sums *int32, count int)
//
// Sixteen bytes of the row are widened to 16 bits, multiplied with sixteen codes
// of the query and added in pairs to 32 bits, which cannot overflow: a pair is at
// most 2·128·128. Four sums hide the latency of the additions.
TEXT ·dotsAVX2(SB), NOSPLIT, $0-48
	MOVQ  query+0(FP), R8
	MOVQ  rows+8(FP), R9
	MOVQ  n+16(FP), R10
	MOVQ  stride+24(FP), R11
	MOVQ  sums+32(FP), R12
	MOVQ  count+40(FP), R13

row:
	MOVQ  R8, SI
	MOVQ  R9, DI
	MOVQ  R10, CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

by64:
	CMPQ      CX, $64
	JLT       by16
	VPMOVSXBW (DI), Y4
	VPMOVSXBW 16(DI), Y5
	VPMOVSXBW 32(DI), Y6
	VPMOVSXBW 48(DI), Y7
	VPMADDWD  (SI), Y4, Y4
	VPMADDWD  32(SI), Y5, Y5
	VPMADDWD  64(SI), Y6, Y6
	VPMADDWD  96(SI), Y7, Y7
	VPADDD    Y4, Y0, Y0
	VPADDD    Y5, Y1, Y1
	VPADDD    Y6, Y2, Y2
	VPADDD    Y7, Y3, Y3
	ADDQ      $64, DI
	ADDQ      $128, SI
	SUBQ      $64, CX
	JMP       by64

by16:
	CMPQ      CX, $16
	JLT       sum
	VPMOVSXBW (DI), Y4
	VPMADDWD  (SI), Y4, Y4
	VPADDD    Y4, Y0, Y0
	ADDQ      $16, DI
	ADDQ      $32, SI
	SUBQ      $16, CX
	JMP       by16

sum:
	VPADDD       Y1, Y0, Y0
	VPADDD       Y3, Y2, Y2
	VPADDD       Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, (R12)
	ADDQ         $4, R12
	ADDQ         R11, R9
	DECQ         R13
	JNZ          row
	VZEROUPPER
	RET

// DOT32 multiplies 32 codes of a row with those of the query, and adds them up in fours. A row's signs go over to the
// query, as what is multiplied must have none: no pair exceeds 2·128·127, which fits into 16 bits.
#define DOT32(at, query, out) \
	VPABSB     at(DI), Y4        \
	VPSIGNB    at(DI), query, Y5 \
	VPMADDUBSW Y5, Y4, Y4        \
	VPMADDWD   Y13, Y4, out

// DOT256 is what dotsAVX2 makes of a row of 256 codes, before it is added up.
#define DOT256(row, out) \
	DOT32(row, Y6, out)      \
	DOT32((row+32), Y7, Y4)  \
	VPADDD Y4, out, out      \
	DOT32((row+64), Y8, Y4)  \
	VPADDD Y4, out, out      \
	DOT32((row+96), Y9, Y4)  \
	VPADDD Y4, out, out      \
	DOT32((row+128), Y10, Y4)\
	VPADDD Y4, out, out      \
	DOT32((row+160), Y11, Y4)\
	VPADDD Y4, out, out      \
	DOT32((row+192), Y12, Y4)\
	VPADDD Y4, out, out      \
	DOT32((row+224), Y14, Y4)\
	VPADDD Y4, out, out

// NARROW makes bytes of 32 codes of the query.
#define NARROW(at, out) \
	VMOVDQU   at(R8), Y4           \
	VPACKSSWB (at+32)(R8), Y4, Y4  \
	VPERMQ    $0xD8, Y4, out

// func dots256AVX2(query *int16, rows *int8, sums *int32, count int)
//
// It is dotsAVX2 for rows of 256 codes, four at a time, and a query whose codes are from -127 to 127.
TEXT ·dots256AVX2(SB), NOSPLIT, $0-32
	MOVQ query+0(FP), R8
	MOVQ rows+8(FP), DI
	MOVQ sums+16(FP), R12
	MOVQ count+24(FP), R13
	NARROW(0, Y6)
	NARROW(64, Y7)
	NARROW(128, Y8)
	NARROW(192, Y9)
	NARROW(256, Y10)
	NARROW(320, Y11)
	NARROW(384, Y12)
	NARROW(448, Y14)
	VPCMPEQW Y13, Y13, Y13
	VPSRLW   $15, Y13, Y13 // ones of 16 bits

four:
	DOT256(0, Y0)
	DOT256(256, Y1)
	DOT256(512, Y2)
	DOT256(768, Y3)
	VPHADDD      Y1, Y0, Y0
	VPHADDD      Y3, Y2, Y2
	VPHADDD      Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VMOVDQU      X0, (R12)
	ADDQ         $1024, DI
	ADDQ         $16, R12
	SUBQ         $4, R13
	JNZ          four
	VZEROUPPER
	RET

// func productsAVX2(query *int8, codes *byte, n int, sums *int32, count int)
//
// A byte has the codes of four dimensions, n apart. Each of them is multiplied with the query's and
// added in pairs to 16 bits. Two of the four are left where they lie, and count four times; the
// others are multiplied by four in the end. Nothing overflows: a pair is at most 2·3·128, or four
// times that, and a sketch of 256 bytes has 16 and 8 of them in each sum.
TEXT ·productsAVX2(SB), NOSPLIT, $0-40
	MOVQ     query+0(FP), R8
	MOVQ     codes+8(FP), DI
	MOVQ     n+16(FP), R10
	MOVQ     sums+24(FP), R12
	MOVQ     count+32(FP), R13
	VPCMPEQW Y15, Y15, Y15
	VPSRLW   $15, Y15, Y11     // ones of 16 bits
	VPSLLW   $2, Y11, Y12      // fours of 16 bits
	VPSRLW   $14, Y15, Y14
	VPSLLW   $8, Y14, Y13
	VPOR     Y13, Y14, Y14     // 3 of 8 bits
	VPSLLW   $2, Y14, Y13      // 12 of 8 bits
	LEAQ     (R10)(R10*2), R11

sketch:
	MOVQ  R8, SI
	MOVQ  R10, CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2

by32:
	VMOVDQU    (DI), Y4
	VPSRLW     $4, Y4, Y5
	VPAND      Y14, Y4, Y6
	VPAND      Y14, Y5, Y7
	VPAND      Y13, Y4, Y4
	VPAND      Y13, Y5, Y5
	VPMADDUBSW (SI), Y6, Y6
	VPMADDUBSW (SI)(R10*2), Y7, Y7
	VPMADDUBSW (SI)(R10*1), Y4, Y4
	VPMADDUBSW (SI)(R11*1), Y5, Y5
	VPADDW     Y6, Y0, Y0
	VPADDW     Y7, Y0, Y0
	VPADDW     Y4, Y1, Y1
	VPADDW     Y5, Y2, Y2
	ADDQ       $32, DI
	ADDQ       $32, SI
	SUBQ       $32, CX
	JNZ        by32

	VPMADDWD     Y12, Y0, Y0
	VPMADDWD     Y11, Y1, Y1
	VPMADDWD     Y11, Y2, Y2
	VPADDD       Y1, Y0, Y0
	VPADDD       Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPADDD       X1, X0, X0
	VPSRAD       $2, X0, X0
	VMOVD        X0, (R12)
	ADDQ         $4, R12
	DECQ         R13
	JNZ          sketch
	VZEROUPPER
	RET

// SUM64 is what productsAVX2 makes of a sketch of 64 bytes, before it is added up and divided by four.
#define SUM64(at, out) \
	VMOVDQU    at(DI), Y4        \
	VMOVDQU    (at+32)(DI), Y8   \
	VPSRLW     $4, Y4, Y5        \
	VPSRLW     $4, Y8, Y9        \
	VPAND      Y14, Y4, Y6       \
	VPAND      Y14, Y5, Y7       \
	VPAND      Y13, Y4, Y4       \
	VPAND      Y13, Y5, Y5       \
	VPMADDUBSW (R8), Y6, Y6      \
	VPMADDUBSW 128(R8), Y7, Y7   \
	VPMADDUBSW 64(R8), Y4, Y4    \
	VPMADDUBSW 192(R8), Y5, Y5   \
	VPADDW     Y7, Y6, Y6        \
	VPADDW     Y5, Y4, Y4        \
	VPAND      Y14, Y8, Y5       \
	VPAND      Y14, Y9, Y7       \
	VPAND      Y13, Y8, Y8       \
	VPAND      Y13, Y9, Y9       \
	VPMADDUBSW 32(R8), Y5, Y5    \
	VPMADDUBSW 160(R8), Y7, Y7   \
	VPMADDUBSW 96(R8), Y8, Y8    \
	VPMADDUBSW 224(R8), Y9, Y9   \
	VPADDW     Y5, Y6, Y6        \
	VPADDW     Y8, Y4, Y4        \
	VPADDW     Y7, Y6, Y6        \
	VPADDW     Y9, Y4, Y4        \
	VPMADDWD   Y12, Y6, Y6       \
	VPMADDWD   Y11, Y4, Y4       \
	VPADDD     Y4, Y6, out

// func products64AVX2(query *int8, codes *byte, sums *int32, count int)
//
// It is productsAVX2 for sketches of 64 bytes, four at a time.
TEXT ·products64AVX2(SB), NOSPLIT, $0-32
	MOVQ     query+0(FP), R8
	MOVQ     codes+8(FP), DI
	MOVQ     sums+16(FP), R12
	MOVQ     count+24(FP), R13
	VPCMPEQW Y15, Y15, Y15
	VPSRLW   $15, Y15, Y11
	VPSLLW   $2, Y11, Y12
	VPSRLW   $14, Y15, Y14
	VPSLLW   $8, Y14, Y13
	VPOR     Y13, Y14, Y14
	VPSLLW   $2, Y14, Y13

four:
	SUM64(0, Y0)
	SUM64(64, Y1)
	SUM64(128, Y2)
	SUM64(192, Y3)
	VPHADDD      Y1, Y0, Y0
	VPHADDD      Y3, Y2, Y2
	VPHADDD      Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSRAD       $2, X0, X0
	VMOVDQU      X0, (R12)
	ADDQ         $256, DI
	ADDQ         $16, R12
	SUBQ         $4, R13
	JNZ          four
	VZEROUPPER
	RET

// func likelyAVX2(sums *int32, factors, spreads *float32, count int, by *bounds) uint64
//
// It computes in float32 what coarse.most does in float64, each step rounded up by more than a float32
// may be off. What is not less than the least, or is no number, has a bit.
TEXT ·likelyAVX2(SB), NOSPLIT, $0-48
	MOVQ         sums+0(FP), SI
	MOVQ         factors+8(FP), DI
	MOVQ         spreads+16(FP), R8
	MOVQ         count+24(FP), R9
	MOVQ         by+32(FP), R10
	VPBROADCASTD (R10), Y8
	VBROADCASTSS 4(R10), Y9
	VBROADCASTSS 8(R10), Y10
	VBROADCASTSS 12(R10), Y11
	VBROADCASTSS 16(R10), Y12
	VBROADCASTSS 20(R10), Y13
	XORQ         CX, CX
	XORQ         AX, AX

eight:
	VMOVDQU   (SI), Y0
	VPADDD    Y0, Y0, Y0
	VPSUBD    Y8, Y0, Y0
	VCVTDQ2PS Y0, Y0
	VMULPS    Y9, Y0, Y1
	VMULPS    Y10, Y0, Y0
	VMAXPS    Y1, Y0, Y0
	VADDPS    Y11, Y0, Y0
	VMULPS    (DI), Y0, Y0
	VMULPS    (R8), Y12, Y1
	VADDPS    Y1, Y0, Y0
	VCMPPS    $5, Y13, Y0, Y0
	VMOVMSKPS Y0, DX
	SHLQ      CX, DX
	ORQ       DX, AX
	ADDQ      $32, SI
	ADDQ      $32, DI
	ADDQ      $32, R8
	ADDQ      $8, CX
	CMPQ      CX, R9
	JLT       eight
	MOVQ      AX, ret+40(FP)
	VZEROUPPER
	RET

// func prefetchLines(row *int8, n int)
TEXT ·prefetchLines(SB), NOSPLIT, $0-16
	MOVQ row+0(FP), SI
	MOVQ n+8(FP), CX

line:
	PREFETCHT0 (SI)
	ADDQ       $64, SI
	SUBQ       $64, CX
	JGT        line
	RET
