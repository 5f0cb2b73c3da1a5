/** Why what was typed is refused, below its field. The field names it with `aria-describedby`. */
export function FieldError({ id, error }: { readonly id: string; readonly error: string | undefined }) {
  return (
    <p id={id} class="field-error" role="alert">
      {error}
    </p>
  )
}
