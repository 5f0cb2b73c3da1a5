/** Why somebody was not signed in. The message is for that person; the cause, if there is one, for the log of the operator. */
export class OidcRefusal extends Error {
  override name = 'OidcRefusal'
  /** 400: begin again; 403: not this person, or not by this answer; 503: the provider does not answer, or refuses this ipid. */
  readonly status: 400 | 403 | 503

  constructor(status: OidcRefusal['status'], message: string, cause?: unknown) {
    super(message, { cause })
    this.status = status
  }
}
