/**
 * What people do around training, with mixed precision on: each test does it to a network of stock DL4J's in FP32, and
 * to the same network in mixed precision. Modules that compute compile these tests among their own, so they run on the
 * engine that stands on the class path.
 */
package org.dl4jamp.life;
