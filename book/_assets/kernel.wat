;; The products of the published model in the page (lm-gguf.js): rows of quantised weights times a vector.
;;
;; A row is stored as the GGUF file has it, in blocks of 32 weights, and is never unpacked: w = d q + m. The
;; vector is rounded by blocks, too: x = e p, p from -127 to 127. Then a block's share of the product is
;;     d e (sum of q p)  +  m e (sum of p),
;; whose first sum is of whole numbers and exact. Each operation on floats is rounded as IEEE 754 says and in
;; the order written here, so NumPy gives the same bits (tests/book/plain_gguf.py).
;;
;; Its bytes stand in lm-kernel.js; after a change: python book/assemble.py (needs wasmtime).
(module
  (import "page" "memory" (memory 1))

  (func $sum (param $v v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $v)) (f32x4.extract_lane 1 (local.get $v)))
      (f32.add (f32x4.extract_lane 2 (local.get $v)) (f32x4.extract_lane 3 (local.get $v)))))

  ;; Rows of four bits: Q4_1 (d, m, codes) and Q4_0 (d, codes), where m is -8 d.
  ;; A byte holds q_i in its low half and q_(i+16) in its high half. So of each pair of bytes the four halves are
  ;; q_2j, q_(2j+16), q_(2j+1), q_(2j+17), and the vector's whole numbers p lie in that order: four times eight.
  (func (export "rows_of_four_bits")
    (param $row i32) (param $n_rows i32) (param $n_blocks i32)
    (param $bytes i32)  ;; of a block: 20 or 18
    (param $second i32) ;; where in a block m is, or what gives m: 2 or 0
    (param $factor f32) ;; that then makes it m: 1 or -8
    (param $p i32)      ;; 32 whole numbers of 16 bits a block
    (param $scales i32) ;; e, e (sum of p), 0, 0 a block
    (param $out i32)
    (local $n i32) (local $at_p i32) (local $at_scales i32)
    (local $codes v128) (local $dm v128) (local $products v128) (local $offsets v128)
    (loop $each_row
      (local.set $n (local.get $n_blocks))
      (local.set $at_p (local.get $p))
      (local.set $at_scales (local.get $scales))
      (local.set $products (v128.const i64x2 0 0))
      (local.set $offsets (v128.const i64x2 0 0))
      (loop $each_block
        (local.set $dm
          (f32x4.mul
            (v128.load (local.get $at_scales))
            (f32x4.mul
              (v128.const f32x4 0x1p112 0x1p112 0x1p112 0x1p112)
              (v128.and
                (v128.const i32x4 0x8fffe000 0x8fffe000 0x8fffe000 0x8fffe000)
                (i32x4.shl
                  (i32x4.extend_low_i16x8_s
                    (v128.load16_lane 1 (i32.add (local.get $row) (local.get $second))
                      (v128.load32_zero (local.get $row))))
                  (i32.const 13))))))
        (local.set $row (i32.add (local.get $row) (local.get $bytes)))
        (local.set $codes (v128.load (i32.sub (local.get $row) (i32.const 16))))
        (local.set $products
          (f32x4.add
            (local.get $products)
            (f32x4.mul
              (i8x16.shuffle 0 1 2 3 0 1 2 3 0 1 2 3 0 1 2 3 (local.get $dm) (local.get $dm))
              (f32x4.convert_i32x4_s
                (i32x4.add
                  (i32x4.add
                    (i32x4.dot_i16x8_s
                      (v128.and (local.get $codes) (v128.const i16x8 15 15 15 15 15 15 15 15))
                      (v128.load (local.get $at_p)))
                    (i32x4.dot_i16x8_s
                      (v128.and (i16x8.shr_u (local.get $codes) (i32.const 4)) (v128.const i16x8 15 15 15 15 15 15 15 15))
                      (v128.load offset=16 (local.get $at_p))))
                  (i32x4.add
                    (i32x4.dot_i16x8_s
                      (v128.and (i16x8.shr_u (local.get $codes) (i32.const 8)) (v128.const i16x8 15 15 15 15 15 15 15 15))
                      (v128.load offset=32 (local.get $at_p)))
                    (i32x4.dot_i16x8_s
                      (i16x8.shr_u (local.get $codes) (i32.const 12))
                      (v128.load offset=48 (local.get $at_p)))))))))
        (local.set $offsets (f32x4.add (local.get $offsets) (local.get $dm)))
        (local.set $at_p (i32.add (local.get $at_p) (i32.const 64)))
        (local.set $at_scales (i32.add (local.get $at_scales) (i32.const 16)))
        (br_if $each_block (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (f32.store (local.get $out)
        (f32.add
          (call $sum (local.get $products))
          (f32.mul (local.get $factor) (f32x4.extract_lane 1 (local.get $offsets)))))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (br_if $each_row (local.tee $n_rows (i32.sub (local.get $n_rows) (i32.const 1))))))

  ;; Rows of eight bits, Q8_0: d, then 32 codes in order; the vector's whole numbers lie in order, too.
  (func (export "rows_of_eight_bits")
    (param $row i32) (param $n_rows i32) (param $n_blocks i32)
    (param $p i32) (param $scales i32) (param $out i32)
    (local $n i32) (local $at_p i32) (local $at_scales i32) (local $products v128) (local $d v128)
    (loop $each_row
      (local.set $n (local.get $n_blocks))
      (local.set $at_p (local.get $p))
      (local.set $at_scales (local.get $scales))
      (local.set $products (v128.const i64x2 0 0))
      (loop $each_block
        (local.set $d 
          (f32x4.mul
            (v128.load32_splat (local.get $at_scales))
            (f32x4.mul
              (v128.const f32x4 0x1p112 0x1p112 0x1p112 0x1p112)
              (v128.and
                (v128.const i32x4 0x8fffe000 0x8fffe000 0x8fffe000 0x8fffe000)
                (i32x4.shl (i32x4.extend_low_i16x8_s (v128.load16_splat (local.get $row))) (i32.const 13))))))
        (local.set $products
          (f32x4.add
            (local.get $products)
            (f32x4.mul
              (local.get $d)
              (f32x4.convert_i32x4_s
                (i32x4.add
                  (i32x4.add
                    (i32x4.dot_i16x8_s (v128.load8x8_s offset=2 (local.get $row)) (v128.load (local.get $at_p)))
                    (i32x4.dot_i16x8_s (v128.load8x8_s offset=10 (local.get $row)) (v128.load offset=16 (local.get $at_p))))
                  (i32x4.add
                    (i32x4.dot_i16x8_s (v128.load8x8_s offset=18 (local.get $row)) (v128.load offset=32 (local.get $at_p)))
                    (i32x4.dot_i16x8_s (v128.load8x8_s offset=26 (local.get $row)) (v128.load offset=48 (local.get $at_p)))))))))
        (local.set $row (i32.add (local.get $row) (i32.const 34)))
        (local.set $at_p (i32.add (local.get $at_p) (i32.const 64)))
        (local.set $at_scales (i32.add (local.get $at_scales) (i32.const 16)))
        (br_if $each_block (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (f32.store (local.get $out) (call $sum (local.get $products)))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (br_if $each_row (local.tee $n_rows (i32.sub (local.get $n_rows) (i32.const 1))))))

  ;; How well a query fits n keys, each of `size` floats and `stride` bytes behind the one before.
  (func (export "scores")
    (param $query i32) (param $key i32) (param $n i32) (param $stride i32) (param $size i32) (param $out i32)
    (local $at i32) (local $fit v128)
    (local.set $size (i32.shl (local.get $size) (i32.const 2)))
    (loop $each_key
      (local.set $at (i32.const 0))
      (local.set $fit (v128.const i64x2 0 0))
      (loop $four_more
        (local.set $fit
          (f32x4.add
            (local.get $fit)
            (f32x4.mul
              (v128.load (i32.add (local.get $query) (local.get $at)))
              (v128.load (i32.add (local.get $key) (local.get $at))))))
        (br_if $four_more
          (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $size))))
      (f32.store (local.get $out) (call $sum (local.get $fit)))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (local.set $key (i32.add (local.get $key) (local.get $stride)))
      (br_if $each_key (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))

  ;; Add n values to `out`, each times its weight; sizes as for the keys.
  (func (export "mix")
    (param $weight i32) (param $value i32) (param $n i32) (param $stride i32) (param $size i32) (param $out i32)
    (local $at i32) (local $share v128)
    (local.set $size (i32.shl (local.get $size) (i32.const 2)))
    (loop $each_value
      (local.set $at (i32.const 0))
      (local.set $share (v128.load32_splat (local.get $weight)))
      (loop $four_more
        (v128.store
          (i32.add (local.get $out) (local.get $at))
          (f32x4.add
            (v128.load (i32.add (local.get $out) (local.get $at)))
            (f32x4.mul
              (local.get $share)
              (v128.load (i32.add (local.get $value) (local.get $at))))))
        (br_if $four_more
          (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $size))))
      (local.set $weight (i32.add (local.get $weight) (i32.const 4)))
      (local.set $value (i32.add (local.get $value) (local.get $stride)))
      (br_if $each_value (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))
