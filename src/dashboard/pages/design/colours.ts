/** N of `--cat-N` in the tokens: colours that people with any kind of colour vision tell apart. */
export type CategoryColour = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10

/** The value for a style. */
export function colourOf(colour: CategoryColour): string {
  return `var(--cat-${colour})`
}

/** The colour of a class of network. One class has one colour on every page. */
export const CLASS_COLOURS: Readonly<Record<string, CategoryColour>> = {
  business: 1,
  isp: 2,
  hosting: 3,
  cloud: 4,
  cdn: 5,
  vpn: 7,
  bot: 8,
  reserved: 9,
}
