import type { Classification } from '../../../schemas/classification.ts'
import { NAME_MAX } from './domain.ts'
import { classificationIn, once, readSections } from './sections.ts'

/** A finding in a reverse name; `sure` when only providers use the word, and no company in its own network. */
interface HostnameFinding {
  readonly classification: Classification
  readonly word: string
  readonly sure: boolean
}

interface Pattern {
  readonly classification: Classification
  readonly sure: boolean
  readonly words: readonly string[]
}

export const hostnamePatterns = once((): Pattern[] =>
  readSections('hostnames.txt').map(({ heading: [classification, certainty], entries }) => ({
    classification: classificationIn(classification!),
    sure: certainty === 'sure',
    words: entries,
  })),
)

const MIN_NUMBERS = 2
/** The name contains the address: `1-2-3-4`, `1.2.3.4`, `001002003004` or `c0a80001`. */
const ADDRESS_IN_NAME = /(?:\d{1,3}[.x-]){3}\d{1,3}|(?<![0-9a-z])(?:ip)?(?:\d{12}|[0-9a-f]{8})(?![0-9a-z])/i

/**
 * Classifies a reverse name. Companies choose names of machines, and providers generate them. So a name counts only when it
 * contains the address, or at least numbers, and a word for a service.
 */
export function readHostname(hostname: string): HostnameFinding | undefined {
  if (hostname.length > NAME_MAX) return undefined
  const labels = hostname.toLowerCase().split('.')
  // The domain rules handle the registered name.
  const own = labels.slice(0, -1).join('.')
  const numbers = own.match(/\d+/g)?.length ?? 0
  const generated = ADDRESS_IN_NAME.test(own)
  if (!generated && numbers < MIN_NUMBERS) return undefined
  const words = new Set(own.split(/[^a-z]+/))
  for (const { classification, sure, words: candidates } of hostnamePatterns()) {
    if (!sure && !generated) continue
    const word = candidates.find((candidate) => words.has(candidate))
    if (word !== undefined) return { classification, word, sure }
  }
  return undefined
}
