/** The version of this client, the same as that of ipid. */
export const VERSION = '0.2.0'
