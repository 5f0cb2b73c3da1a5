/** Why an event does not go on behind a stage. An event that a stage does not mention is kept. */
export type Outcome =
  /**
   * It leaves the pipeline, and is finished. The reason, of `[a-z_]`, names the count of such events in the metrics and in
   * the summary of a batch job. `detail` says more of it in `outcomes.reason`, in a few fixed words.
   */
  | { readonly kind: 'drop'; readonly reason: string; readonly detail?: string }
  /** It cannot be processed: it goes to the dead letters, with the reason in words. */
  | { readonly kind: 'dead'; readonly reason: string }
