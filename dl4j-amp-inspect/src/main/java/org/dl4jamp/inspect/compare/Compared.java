package org.dl4jamp.inspect.compare;

import java.util.Optional;
import org.dl4jamp.inspect.compare.numbers.Difference;
import org.dl4jamp.inspect.compare.numbers.NumberRange;

/**
 * Numbers in mixed precision beside those of stock DL4J in FP32.
 *
 * @param mixed their difference in mixed precision
 * @param rounded the difference in stock DL4J in FP32 if only the weights of the layers in half precision are rounded
 *     to it; empty if there are no such layers
 * @param inFp32 the numbers in FP32
 * @param inMixed the numbers in mixed precision
 */
public record Compared(Difference mixed, Optional<Difference> rounded, NumberRange inFp32, NumberRange inMixed) {}
