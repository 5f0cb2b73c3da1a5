/**
 * Bots that `outcomes.reason` names, with their kind. An `assistant` fetches a page because a person asked it to; a `preview` shows
 * a link in a chat. Blocks in Redis hold the position in this list, so append only.
 */
export const BOTS = {
  /** A bot that the other names do not cover. */
  other: 'crawler',
  googlebot: 'crawler',
  'google-special': 'crawler',
  'google-fetcher': 'preview',
  'google-agent': 'assistant',
  bingbot: 'crawler',
  'microsoft-preview': 'preview',
  applebot: 'crawler',
  gptbot: 'crawler',
  'oai-searchbot': 'crawler',
  'chatgpt-user': 'assistant',
  claudebot: 'crawler',
  'claude-user': 'assistant',
  perplexitybot: 'crawler',
  'perplexity-user': 'assistant',
  'mistral-user': 'assistant',
  duckduckbot: 'crawler',
  duckassistbot: 'assistant',
  ccbot: 'crawler',
  amazonbot: 'crawler',
  'amazon-user': 'assistant',
  bytespider: 'crawler',
  'meta-preview': 'preview',
  'meta-crawler': 'crawler',
  'meta-user': 'assistant',
  'cohere-ai': 'crawler',
  diffbot: 'crawler',
  kagibot: 'crawler',
  petalbot: 'crawler',
  yandexbot: 'crawler',
  baiduspider: 'crawler',
  'sogou-spider': 'crawler',
  '360spider': 'crawler',
  naverbot: 'crawler',
  seznambot: 'crawler',
  coccocbot: 'crawler',
  mojeekbot: 'crawler',
  qwantbot: 'crawler',
  'yahoo-slurp': 'crawler',
  ahrefsbot: 'crawler',
  semrushbot: 'crawler',
  mj12bot: 'crawler',
  'moz-bot': 'crawler',
  dataforseobot: 'crawler',
  blexbot: 'crawler',
  serpstatbot: 'crawler',
  seranking: 'crawler',
  'screaming-frog': 'crawler',
  linkedinbot: 'preview',
  twitterbot: 'preview',
  slackbot: 'preview',
  discordbot: 'preview',
  telegrambot: 'preview',
  whatsapp: 'preview',
  pinterestbot: 'preview',
  redditbot: 'preview',
  embedly: 'preview',
  iframely: 'preview',
  uptimerobot: 'monitor',
  pingdom: 'monitor',
  statuscake: 'monitor',
  'better-stack': 'monitor',
  site24x7: 'monitor',
  datadog: 'monitor',
  'new-relic': 'monitor',
  checkly: 'monitor',
  hetrixtools: 'monitor',
  'oh-dear': 'monitor',
  'updown-io': 'monitor',
  'internet-archive': 'crawler',
  censys: 'crawler',
  shadowserver: 'crawler',
  'alpha-strike': 'crawler',
  onyphe: 'crawler',
  driftnet: 'crawler',
  expanse: 'crawler',
  lighthouse: 'monitor',
  webpagetest: 'monitor',
  'headless-browser': 'crawler',
  'http-library': 'crawler',
} as const satisfies Readonly<Record<string, 'crawler' | 'assistant' | 'preview' | 'monitor'>>

export type Bot = keyof typeof BOTS

/** Most names in `BOTS`, for the byte of a state. */
export const BOTS_MAX = 120

/** `verified`: the address is published for the bot. `claimed`: only the user agent names it. */
export const BOT_PROOFS = ['verified', 'claimed'] as const
export type BotProof = (typeof BOT_PROOFS)[number]

/** `bot:googlebot:verified`, `bot:chatgpt-user:assistant:claimed`: a value of `reason` in `outcomes`. */
export type BotReason = `bot:${string}`

export function botReason(bot: Bot, proof: BotProof): BotReason {
  return `bot:${bot}${BOTS[bot] === 'assistant' ? ':assistant' : ''}:${proof}`
}

/** All reasons, in the order of `BOTS`. */
export const BOT_REASONS: readonly BotReason[] = (Object.keys(BOTS) as Bot[]).flatMap((bot) =>
  BOT_PROOFS.map((proof) => botReason(bot, proof)),
)

export function isBot(name: string): name is Bot {
  return Object.hasOwn(BOTS, name)
}
