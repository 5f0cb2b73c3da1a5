import { InputError } from './errors.ts'

/**
 * Control characters, line ends, lone surrogates, and marks that turn or hide text. The joiners stay, because words of some scripts and
 * emoji need them.
 */
const MISLEADING = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u

/** Letters and symbols that look like nothing: fillers of Hangul, and the empty Braille pattern. */
const BLANK = /[\u115f\u1160\u2800\u3164\uffa0]/g

/**
 * Reads a name that people give to something and others see. Names that are stored already are not read again.
 * @param what for the error, such as "an alert's name"
 * @param field of a form, for the error
 * @throws InputError when it is not one visible line
 */
export function readDisplayName(text: string, what: string, maxChars: number, field?: string): string {
  const name = text.trim()
  if (name.replace(BLANK, '').trim() !== '' && name.length <= maxChars && !MISLEADING.test(name)) return name
  throw new InputError(
    `${what} must be one line of 1 to ${maxChars} characters, without hidden or control characters`,
    {
      field,
    },
  )
}
