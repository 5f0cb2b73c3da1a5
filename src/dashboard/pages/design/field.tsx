import './field.css'
import { Search } from 'lucide-preact'
import type { ComponentChildren, InputHTMLAttributes, Ref, TextareaHTMLAttributes } from 'preact'
import { useId } from 'preact/hooks'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'

/** The properties of every field. */
interface FieldProps {
  /** The content of the field. */
  readonly label: ComponentChildren
  /** Only screen readers get the label, where the place of the field says it. */
  readonly isLabelHidden?: boolean
  /** Help that a person needs before typing. */
  readonly hint?: ComponentChildren
  /** Why the value was refused, and how to correct it. */
  readonly error?: string | undefined
  readonly isSmall?: boolean
  /** No wider than 640 pixels, for a short value on a wide page. */
  readonly isMeasured?: boolean
}

/** Attributes that tie a control to its label, hint and error. */
interface Ids {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': boolean | undefined
}

/** Label, control, hint and error below each other. `TextInput`, `TextArea` and `Select` contain it. */
export function Field({
  label,
  isLabelHidden,
  hint,
  error,
  isMeasured,
  children,
}: FieldProps & { readonly children: (ids: Ids) => ComponentChildren }) {
  const id = useId()
  const describedBy = classes(hint !== undefined && `${id}-hint`, `${id}-error`)
  return (
    <div class={classes('ui-field', isMeasured && 'is-measured')}>
      <label for={id} class={isLabelHidden ? 'ui-hidden' : undefined}>
        {label}
      </label>
      {children({ id, 'aria-describedby': describedBy, 'aria-invalid': error === undefined ? undefined : true })}
      {hint !== undefined && (
        <span id={`${id}-hint`} class="ui-field-hint">
          {hint}
        </span>
      )}
      <FieldError id={`${id}-error`} error={error} />
    </div>
  )
}

/** An error below the fields of a form. Screen readers announce it. */
export function FieldError({ id, error }: { readonly id?: string; readonly error: string | undefined }) {
  return (
    <p id={id} class="ui-field-error" role="alert">
      {error}
    </p>
  )
}

interface TextInputProps
  extends FieldProps,
    Pick<
      InputHTMLAttributes<HTMLInputElement>,
      | 'type'
      | 'required'
      | 'maxLength'
      | 'min'
      | 'max'
      | 'placeholder'
      | 'autocomplete'
      | 'spellcheck'
      | 'inputMode'
      | 'pattern'
      | 'disabled'
      | 'readOnly'
      | 'form'
      | 'onKeyDown'
      | 'onFocus'
      | 'onBlur'
      | 'name'
      | 'role'
      | 'aria-expanded'
      | 'aria-controls'
      | 'aria-activedescendant'
    > {
  readonly value: string
  readonly onInput?: (value: string) => void
  /** When the value is finished: on Enter, or when the field is left. */
  readonly onChange?: (value: string) => void
  readonly isMono?: boolean
  /** Values that the browser offers; others are allowed. */
  readonly suggestions?: readonly string[]
  readonly inputRef?: Ref<HTMLInputElement>
}

/** One line of text. With `type="search"` it has a magnifying glass. */
export function TextInput(props: TextInputProps) {
  const {
    label,
    isLabelHidden,
    hint,
    error,
    isSmall,
    isMeasured,
    isMono,
    onInput,
    onChange,
    inputRef,
    suggestions,
    type = 'text',
    ...native
  } = props
  return (
    <Field label={label} isLabelHidden={isLabelHidden} hint={hint} error={error} isMeasured={isMeasured}>
      {(ids) => {
        const input = (
          <input
            ref={inputRef}
            type={type}
            class={classes('ui-input', isSmall && 'is-small', isMono && 'is-mono')}
            onInput={(event) => onInput?.(event.currentTarget.value)}
            onChange={(event) => onChange?.(event.currentTarget.value)}
            {...ids}
            {...native}
            list={suggestions && `${ids.id}-list`}
          />
        )
        if (suggestions !== undefined) {
          return (
            <>
              {input}
              <datalist id={`${ids.id}-list`}>
                {suggestions.map((value) => (
                  <option key={value} value={value} />
                ))}
              </datalist>
            </>
          )
        }
        if (type !== 'search') return input
        return (
          <div class="ui-search">
            <Icon of={Search} />
            {input}
          </div>
        )
      }}
    </Field>
  )
}

interface TextAreaProps
  extends FieldProps,
    Pick<
      TextareaHTMLAttributes<HTMLTextAreaElement>,
      'rows' | 'required' | 'maxLength' | 'placeholder' | 'spellcheck' | 'autocomplete' | 'onKeyDown'
    > {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly isMono?: boolean
}

/** Several lines of text. */
export function TextArea(props: TextAreaProps) {
  const { label, isLabelHidden, hint, error, isSmall, isMeasured, isMono, onInput, ...native } = props
  return (
    <Field label={label} isLabelHidden={isLabelHidden} hint={hint} error={error} isMeasured={isMeasured}>
      {(ids) => (
        <textarea
          class={classes('ui-input', isSmall && 'is-small', isMono && 'is-mono')}
          onInput={(event) => onInput(event.currentTarget.value)}
          {...ids}
          {...native}
        />
      )}
    </Field>
  )
}

/** A value of a select. */
export interface Option {
  readonly value: string
  readonly label: string
  readonly isDisabled?: boolean
  /** Heading above it and its neighbours with the same group. */
  readonly group?: string
}

interface SelectProps extends FieldProps {
  readonly value: string
  /** A value that is not among them is shown first, as it is. */
  readonly options: readonly Option[]
  readonly onChange: (value: string) => void
  readonly disabled?: boolean
  readonly selectRef?: Ref<HTMLSelectElement>
}

/** Chooses one of a few values. For two to four that fit beside each other, take `Segmented`. */
export function Select(props: SelectProps) {
  const { label, isLabelHidden, hint, error, isSmall, value, options, onChange, disabled, selectRef } = props
  const isListed = options.some((option) => option.value === value)
  const groups = [...new Set(options.map(({ group }) => group))]
  return (
    <Field label={label} isLabelHidden={isLabelHidden} hint={hint} error={error}>
      {(ids) => (
        <select
          ref={selectRef}
          class={classes('ui-input', isSmall && 'is-small')}
          value={value}
          disabled={disabled}
          onChange={(event) => onChange(event.currentTarget.value)}
          {...ids}
        >
          {!isListed && <option value={value}>{value}</option>}
          {groups.map((group) => {
            const drawn = options
              .filter((option) => option.group === group)
              .map((option) => (
                <option key={option.value} value={option.value} disabled={option.isDisabled}>
                  {option.label}
                </option>
              ))
            return group === undefined ? (
              drawn
            ) : (
              <optgroup key={group} label={group}>
                {drawn}
              </optgroup>
            )
          })}
        </select>
      )}
    </Field>
  )
}

interface CheckboxProps {
  readonly label: ComponentChildren
  readonly isChecked: boolean
  readonly isLabelHidden?: boolean
  readonly onChange: (isChecked: boolean) => void
  readonly disabled?: boolean
}

/** A yes or no. */
export function Checkbox({ label, isChecked, isLabelHidden, onChange, disabled }: CheckboxProps) {
  return (
    <label class="ui-check">
      <input
        type="checkbox"
        checked={isChecked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span class={isLabelHidden ? 'ui-hidden' : undefined}>{label}</span>
    </label>
  )
}

interface FieldsetProps {
  /** The subject of its fields. */
  readonly legend: string
  readonly children: ComponentChildren
}

/** Fields that belong together. Many of them scroll. */
export function Fieldset({ legend, children }: FieldsetProps) {
  return (
    <fieldset class="ui-fieldset">
      <legend>{legend}</legend>
      {children}
    </fieldset>
  )
}
