/**
 * Uses of a network around training: each test runs them on a network of stock DL4J's in FP32, and on the same network
 * in mixed precision. Modules with engines compile these tests among their own, so they run on the engine on the class
 * path.
 */
package org.dl4jamp.life;
