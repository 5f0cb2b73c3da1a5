/**
 * Classes of infrastructure that a data file may state. `bot` is a crawler, a link preview or a monitor. `vpn` hides the network
 * of its users: VPNs, Tor exits, private relays, and security gateways of companies.
 */
export const NOISE_CLASSES = ['isp', 'hosting', 'cloud', 'cdn', 'vpn', 'bot'] as const
export type NoiseClass = (typeof NOISE_CLASSES)[number]

/** Classifications that a data file may state. */
export const STATED_CLASSIFICATIONS = ['business', 'education', 'government', ...NOISE_CLASSES] as const

/** The kind of organisation that an address belongs to. `reserved` follows from the address alone. */
export const CLASSIFICATIONS = [...STATED_CLASSIFICATIONS, 'reserved'] as const
export type Classification = (typeof CLASSIFICATIONS)[number]

/** Infrastructure. Its events are answered `filtered`, and do not count for accounts. */
export const NOISE: ReadonlySet<Classification> = new Set([...NOISE_CLASSES, 'reserved'])

/**
 * Begins the rule of a name that may be an access provider's or a hoster's; the probability follows. Nothing else speaks for a class. Events
 * from there are kept, without an account.
 */
export const DOUBTFUL = 'doubtful:'
