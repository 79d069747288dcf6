"""The doctor's check of the compiled kernels."""

from tiny_llm_course.catalogue import say
from tiny_llm_course.doctor.finding import Finding
from tiny_llm_course.extension.building import is_current
from tiny_llm_course.places import Checkout, here


def check_kernels(checkout: Checkout | None = None) -> Finding:
    """Check whether the kernels are compiled: the learner's, and the reference's."""
    checkout = checkout or here()
    folders = {
        "pdm run build-ext": checkout.starter,
        "pdm run build-ext-ref": checkout.reference,
    }
    missing = {
        command: folder for command, folder in folders.items() if not is_current(folder)
    }
    subject, meaning = say("doctor.subjects.kernels"), say("extension.meaning")
    if not missing:
        return Finding(subject, "ok", say("extension.both"), meaning)
    names = say("extension.and").join(map(checkout.link, missing.values()))
    found = say("extension.some", names=names)
    return Finding(subject, "note", found, meaning, " && ".join(missing))
