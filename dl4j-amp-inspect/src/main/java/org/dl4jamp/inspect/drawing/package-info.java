/**
 * Draws a plan as a graph, as SVG or as an image. Begin with {@link org.dl4jamp.inspect.drawing.PlanDrawing}. Works
 * without a display.
 */
package org.dl4jamp.inspect.drawing;
