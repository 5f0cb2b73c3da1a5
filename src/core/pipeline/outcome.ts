/** Why an event leaves the pipeline without being stored. Counted, and answered where somebody waits for it. */
export type DropReason = 'duplicate' | 'noise'

/** What becomes of an event in a stage. An event that a stage does not mention is kept. */
export type Outcome =
  | { readonly kind: 'drop'; readonly reason: DropReason }
  /** It cannot be processed: it goes to the dead letters, with the reason in words. */
  | { readonly kind: 'dead'; readonly reason: string }
