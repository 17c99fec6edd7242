/** The common part of the commands: options and their validation, progress, files with figures. */
package org.dl4jamp.examples.cli;
