/** The author of a change that a command makes. */
export const COMMAND_LINE = 'command line'
