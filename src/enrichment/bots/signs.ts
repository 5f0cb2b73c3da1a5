import type { Bot } from '../../../schemas/bots.ts'

/** How a bot is recognised. */
interface Signs {
  /** Bots of one operator share their published ranges: Google publishes one list for all crawlers of its search. */
  readonly operator: string
  /** Names in its user agents, in any case. Whole words; `^` matches the start only. */
  readonly agents: readonly string[]
  /** Autonomous systems that only this bot uses. */
  readonly systems?: readonly number[]
  /** Autonomous systems that its operator publishes to verify it, and in which people work too. */
  readonly verifiedIn?: readonly number[]
}

const NO_AGENTS: readonly string[] = []

/** The names come from the operators' own pages about their bots. */
export const SIGNS: Readonly<Record<Bot, Signs>> = {
  other: { operator: '', agents: NO_AGENTS },
  googlebot: {
    operator: 'google',
    agents: [
      ...['Googlebot', 'Googlebot-Image', 'Googlebot-News', 'Googlebot-Video', 'Storebot-Google', 'GoogleOther'],
      ...['GoogleOther-Image', 'GoogleOther-Video', 'Google-InspectionTool', 'Google-CloudVertexBot'],
    ],
  },
  'google-special': {
    operator: 'google',
    agents: [
      'AdsBot-Google',
      'AdsBot-Google-Mobile',
      'Mediapartners-Google',
      'APIs-Google',
      'Google-Safety',
      'DuplexWeb-Google',
    ],
  },
  'google-fetcher': {
    operator: 'google',
    agents: [
      ...['FeedFetcher-Google', 'Google-Read-Aloud', 'Google-Site-Verification', 'GoogleProducer', 'Google Favicon'],
      ...['GoogleMessages', 'Google-PageRenderer', 'GoogleImageProxy', 'Google Publisher Center'],
    ],
  },
  'google-agent': {
    operator: 'google',
    agents: ['Google-Agent', 'GoogleAgent-Mariner', 'Google-NotebookLM', 'Gemini-Deep-Research'],
  },
  bingbot: { operator: 'microsoft', agents: ['bingbot', 'BingPreview', 'msnbot', 'msnbot-media', 'adidxbot'] },
  'microsoft-preview': { operator: 'microsoft', agents: ['SkypeUriPreview', 'MicrosoftPreview'] },
  applebot: { operator: 'apple', agents: ['Applebot'] },
  gptbot: { operator: 'openai', agents: ['GPTBot'] },
  'oai-searchbot': { operator: 'openai', agents: ['OAI-SearchBot', 'OAI-AdsBot'] },
  'chatgpt-user': { operator: 'openai', agents: ['ChatGPT-User'] },
  claudebot: { operator: 'anthropic', agents: ['ClaudeBot', 'Claude-SearchBot', 'Claude-Web', 'anthropic-ai'] },
  'claude-user': { operator: 'anthropic', agents: ['Claude-User'] },
  perplexitybot: { operator: 'perplexity', agents: ['PerplexityBot'] },
  'perplexity-user': { operator: 'perplexity', agents: ['Perplexity-User'] },
  'mistral-user': { operator: 'mistral', agents: ['MistralAI-User'] },
  duckduckbot: { operator: 'duckduckgo', agents: ['DuckDuckBot', 'DuckDuckBot-Https', 'DuckDuckGo-Favicons-Bot'] },
  duckassistbot: { operator: 'duckduckgo', agents: ['DuckAssistBot'] },
  ccbot: { operator: 'commoncrawl', agents: ['CCBot'] },
  amazonbot: { operator: 'amazon', agents: ['Amazonbot', 'Amzn-SearchBot'] },
  'amazon-user': { operator: 'amazon', agents: ['Amzn-User'] },
  bytespider: { operator: 'bytedance', agents: ['Bytespider', 'TikTokSpider'] },
  'meta-preview': {
    operator: 'meta',
    agents: ['facebookexternalhit', 'facebookcatalog', 'Facebot'],
    verifiedIn: [32934],
  },
  'meta-crawler': {
    operator: 'meta',
    agents: ['meta-externalagent', 'meta-externalads', 'meta-webindexer', 'FacebookBot'],
    verifiedIn: [32934],
  },
  'meta-user': { operator: 'meta', agents: ['meta-externalfetcher'], verifiedIn: [32934] },
  'cohere-ai': { operator: 'cohere', agents: ['cohere-ai', 'cohere-training-data-crawler'] },
  diffbot: { operator: 'diffbot', agents: ['Diffbot'] },
  kagibot: { operator: 'kagi', agents: ['Kagibot'] },
  petalbot: { operator: 'petal', agents: ['PetalBot', 'AspiegelBot'] },
  yandexbot: {
    operator: 'yandex',
    agents: [
      ...['YandexBot', 'YandexMobileBot', 'YandexImages', 'YandexMetrika', 'YandexWebmaster', 'YandexAccessibilityBot'],
      ...[
        'YandexRenderResourcesBot',
        'YandexFavicons',
        'YandexMedia',
        'YandexBlogs',
        'YandexDirect',
        'YaDirectFetcher',
      ],
    ],
  },
  baiduspider: { operator: 'baidu', agents: ['Baiduspider', 'Baiduspider-render', 'Baiduspider-image'] },
  'sogou-spider': { operator: 'sogou', agents: ['Sogou web spider', 'Sogou inst spider', 'Sogou Pic Spider'] },
  '360spider': { operator: '360', agents: ['360Spider', 'HaoSouSpider'] },
  naverbot: { operator: 'naver', agents: ['Yeti', 'NaverBot'] },
  seznambot: { operator: 'seznam', agents: ['SeznamBot'] },
  coccocbot: { operator: 'coccoc', agents: ['coccocbot-web', 'coccocbot-image', 'coccocbot'] },
  mojeekbot: { operator: 'mojeek', agents: ['MojeekBot'] },
  qwantbot: { operator: 'qwant', agents: ['Qwantbot', 'Qwantbot-news', 'Qwantify'] },
  'yahoo-slurp': { operator: 'yahoo', agents: ['Yahoo! Slurp'] },
  ahrefsbot: { operator: 'ahrefs', agents: ['AhrefsBot', 'AhrefsSiteAudit'], systems: [140577] },
  semrushbot: {
    operator: 'semrush',
    agents: ['SemrushBot', 'SemrushBot-SA', 'SemrushBot-BA', 'SemrushBot-OCOB', 'SiteAuditBot', 'SplitSignalBot'],
    systems: [209366],
  },
  mj12bot: { operator: 'majestic', agents: ['MJ12bot'] },
  'moz-bot': { operator: 'moz', agents: ['DotBot', 'rogerbot'] },
  dataforseobot: { operator: 'dataforseo', agents: ['DataForSeoBot'] },
  blexbot: { operator: 'webmeup', agents: ['BLEXBot'] },
  serpstatbot: { operator: 'serpstat', agents: ['serpstatbot'] },
  seranking: { operator: 'seranking', agents: ['SERankingBacklinksBot', 'SEBot-WA'] },
  'screaming-frog': { operator: 'screamingfrog', agents: ['Screaming Frog SEO Spider'] },
  linkedinbot: { operator: 'linkedin', agents: ['LinkedInBot'] },
  twitterbot: { operator: 'twitter', agents: ['Twitterbot'] },
  slackbot: { operator: 'slack', agents: ['Slackbot', 'Slackbot-LinkExpanding', 'Slack-ImgProxy'] },
  discordbot: { operator: 'discord', agents: ['Discordbot'] },
  telegrambot: {
    operator: 'telegram',
    agents: ['TelegramBot'],
    systems: [44907, 59930, 62014, 62041, 211157],
  },
  // People who browse inside the app have another user agent.
  whatsapp: { operator: 'meta', agents: ['^WhatsApp'] },
  pinterestbot: { operator: 'pinterest', agents: ['Pinterestbot'] },
  redditbot: { operator: 'reddit', agents: ['redditbot'] },
  embedly: { operator: 'embedly', agents: ['Embedly'] },
  iframely: { operator: 'iframely', agents: ['Iframely'] },
  uptimerobot: { operator: 'uptimerobot', agents: ['UptimeRobot'] },
  pingdom: {
    operator: 'pingdom',
    agents: ['Pingdom.com_bot', 'PingdomTMS', 'PingdomPageSpeed'],
    systems: [57597, 200588],
  },
  statuscake: { operator: 'statuscake', agents: ['StatusCake'] },
  'better-stack': { operator: 'betterstack', agents: ['Better Uptime Bot', 'Better Stack Better Uptime Bot'] },
  site24x7: { operator: 'site24x7', agents: ['Site24x7'] },
  datadog: { operator: 'datadog', agents: ['DatadogSynthetics', 'Datadog/Synthetics'] },
  'new-relic': { operator: 'newrelic', agents: ['NewRelicPinger', 'NewRelicSynthetics'] },
  checkly: { operator: 'checkly', agents: ['Checkly'] },
  hetrixtools: { operator: 'hetrixtools', agents: ['HetrixTools'] },
  'oh-dear': { operator: 'ohdear', agents: ['OhDear', 'Oh Dear'] },
  'updown-io': { operator: 'updown', agents: ['updown.io'] },
  'internet-archive': { operator: 'archive', agents: ['archive.org_bot', 'ia_archiver', 'special_archiver'] },
  censys: { operator: 'censys', agents: ['CensysInspect'], systems: [398324, 398705, 398722] },
  shadowserver: { operator: 'shadowserver', agents: ['ShadowServer'], systems: [22168] },
  'alpha-strike': { operator: 'alphastrike', agents: NO_AGENTS, systems: [42969, 208843, 215778] },
  onyphe: { operator: 'onyphe', agents: ['ONYPHE'], systems: [213412] },
  driftnet: { operator: 'driftnet', agents: ['InternetMeasurement'], systems: [211298] },
  expanse: { operator: 'paloalto', agents: ['^Expanse', 'Cortex-Xpanse'] },
  lighthouse: { operator: 'google', agents: ['Chrome-Lighthouse', 'Google Page Speed Insights'] },
  webpagetest: { operator: 'webpagetest', agents: ['PTST', 'GTmetrix'] },
  'headless-browser': {
    operator: '',
    agents: ['HeadlessChrome', 'PhantomJS', 'Playwright', 'Puppeteer', 'Selenium', 'SlimerJS'],
  },
  'http-library': {
    operator: '',
    agents: [
      ...['^curl', '^Wget', '^python-requests', '^Python-urllib', '^python-httpx', '^aiohttp', '^Python/3', '^Scrapy'],
      ...['^Go-http-client', '^Java/', '^Apache-HttpClient', '^node-fetch', '^axios', '^undici', '^libwww-perl'],
      ...['^GuzzleHttp', '^PostmanRuntime', '^Ruby', '^HTTPie', '^insomnia', '^got'],
    ],
  },
}
