/** Author of what a person does with a command. */
export const COMMAND_LINE = 'command line'
