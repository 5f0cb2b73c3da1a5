/** An error below its field. The field refers to it with `aria-describedby`. */
export function FieldError({ id, error }: { readonly id: string; readonly error: string | undefined }) {
  return (
    <p id={id} class="field-error" role="alert">
      {error}
    </p>
  )
}
