import { createIsbotFromList, list } from 'isbot'
import type { Bot } from '../../../schemas/bots.ts'
import { BoundedCache } from '../bounded-cache.ts'
import { once } from '../rules/sections.ts'
import { SIGNS } from './signs.ts'

/** Longest part of a user agent that is judged, in characters. Longer ones end in lists of plug-ins. */
const TEXT_CHARS_MAX = 512
/** User agents with a known answer. A site has some thousands of them, and judging one takes 10 µs. */
const KNOWN_MAX = 8_192

/**
 * Patterns of the package that also match people: the name and version of an app (`Acme/2.1`), browsers inside of apps
 * (`NewsBreak`), and words that companies add to the browsers of their staff (`proxy`). A bot with no other sign counts as a
 * person, because losing an office costs more than keeping a bot.
 */
export const LOOSE: readonly string[] = [
  ...['^[\\w \\.\\-\\(?:\\):%]+(?:/v?\\d+(?:\\.\\d+)?(?:\\.\\d{1,10})*?)?(?:,|$)', '^\\w+/[\\w\\(\\)]*$'],
  ...['^[\\w\\-]+/[\\w]+$', '^[^ ]{50,}$', '^\\w+/\\d\\.\\d\\s\\([\\w@]+\\)$', '^mozilla/\\d\\.\\d\\s[\\w\\.-]+$'],
  ...['\\b\\w+/1\\.0;', ';\\s\\w+;$', '\\|', '^\\d+\\b', '^[<\\(;]', '\\.com\\b'],
  ...[
    '(?:^|[^g])news(?!sapphire)',
    ' daum[ /]',
    'feed',
    'url',
    'tools',
    'radar',
    'insight',
    'server',
    'proxy',
    'agent\\b',
  ],
  ...['library', '\\btime/', 'capture', 'catch', 'measure', 'detect', 'discovery', 'audit', 'advisor', 'optimize'],
  ...[
    'inspect',
    'splash',
    'grab',
    'java(?!;)',
    'node\\b',
    'archive',
    'check\\b',
    'monitor\\b',
    'download',
    'classifier',
  ],
  ...[
    'chromeframe',
    'supercleaner',
    'bluecoat drtr',
    'cloudflare',
    'torrent',
    'hotjar',
    'abuse',
    'cursor/',
    'sparkler/',
  ],
  ...['^active', '^client/', '^custom', '^email', '^offline', '^rank', '^read', '^reed', '^rest', '^track', '^azure'],
  ...['^navermailapp', '^snapchat', '^facebook', '^duckduckgo', '^ddg[_-]android', '^yahoo', '^yandex', '^whatsapp'],
  ...['^microsoft bits', '^zoom marketplace/', '^space bison', '^hwcdn/', '^php', '^avsdevicesdk/', '^exodusmovement'],
  ...['(?<! channel/|google/)google(?!(?:wv|app|/google| pixel))', '\\bort/', '\\bbw/', '\\bdlc\\b', 'readable/'],
  // A browser of people, a phone, and digits of a serial number. Spiders of Sogou, and Site24x7, have names of their own in `SIGNS`.
  ...['sogou', 'virtuoso', '24x7'],
]

/**
 * Models of Android devices that are named like bots: of Cubot, Logicom (`M bot 60`, `VR BOT 552 PLUS`, `C Bot Tab 100`), Xtouch, GLX
 * and others. The list of devices is that of Matomo's device-detector.
 */
const MODELS =
  /(?<=[;,/(] ?)(?:(?:logicom[ _])?(?:(?:[bcm]|id|vr)[ _]?bot(?:[ _]tab)?[ _]?\d{1,4}\+?(?:[ _]?plus)?|power[ _]bot)|cubot(?:[ _][\w +]{1,24})?|xbot[ _](?:junior|senior)|dinobot[ _]4k(?:[ _]plus)?|(?:glx[ _])?spider(?:[ _]?v?\d|i))(?= build\/|[;,)])/gi

/** Apps for Android and iOS send these, with or without a name of their own. */
const APP = /\bokhttp\/|\bCFNetwork\/|^Dalvik\//

interface Judged {
  readonly bot: Bot | undefined
}

const known = new BoundedCache<string, Judged>(KNOWN_MAX)

/** The bot that a user agent names; `other` for one without a name of ours, undefined for a person's. */
export function botOf(userAgent: string): Bot | undefined {
  const text = userAgent.length > TEXT_CHARS_MAX ? userAgent.slice(0, TEXT_CHARS_MAX) : userAgent
  let judged = known.get(text)
  if (judged === undefined) {
    judged = { bot: judge(text) }
    // A copy: a slice of a request would keep the whole request in memory.
    known.set(Buffer.from(text, 'utf8').toString('utf8'), judged)
  }
  return judged.bot
}

function judge(text: string): Bot | undefined {
  const { names, ofName, isOther } = judges()
  const name = names.exec(text)?.[0].toLowerCase()
  if (name !== undefined) return ofName.get(name)
  return !APP.test(text) && isOther(text) && isOther(withoutModel(text)) ? 'other' : undefined
}

/** Replaces the model of an Android device by `K`, as Chrome does, so that only the rest is judged. */
function withoutModel(text: string): string {
  return /\bAndroid\b/.test(text) ? text.replace(MODELS, 'K') : text
}

const judges = once(() => {
  const ofName = new Map<string, Bot>()
  const [inside, first]: [string[], string[]] = [[], []]
  for (const [bot, { agents }] of Object.entries(SIGNS) as [Bot, (typeof SIGNS)[Bot]][]) {
    for (const agent of agents) {
      const name = agent.replace('^', '')
      ofName.set(name.toLowerCase(), bot)
      ;(agent === name ? inside : first).push(name)
    }
  }
  return {
    ofName,
    names: new RegExp(`(?<![a-z0-9])(?:${alternatives(inside)})(?![a-z0-9])|^(?:${alternatives(first)})(?![a-z])`, 'i'),
    isOther: createIsbotFromList(list.filter((pattern) => !LOOSE.includes(pattern))),
  }
})

/** The longest first, because an expression takes the first alternative. */
function alternatives(names: readonly string[]): string {
  const sorted = [...names].sort((a, b) => b.length - a.length)
  return sorted.map((name) => name.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|')
}
