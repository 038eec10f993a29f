"""Names of all fields of the records that the two APIs return, in their order."""

RESERVATION = """
id listingMapId channelId source channelName reservationId hostawayReservationId channelReservationId
externalPropertyId externalRatePlanId externalUnitId assigneeUserId manualIcalId manualIcalName isProcessed
isInitial isManuallyChecked isInstantBooked hasPullError reservationDate pendingExpireDate guestName guestFirstName
guestLastName guestExternalAccountId guestZipCode guestAddress guestCity guestCountry guestEmail guestPicture
guestRecommendations guestTrips guestWork isGuestIdentityVerified isGuestVerifiedByEmail isGuestVerifiedByWorkEmail
isGuestVerifiedByFacebook isGuestVerifiedByGovernmentId isGuestVerifiedByPhone isGuestVerifiedByReviews
numberOfGuests adults children infants pets arrivalDate departureDate isDatesUnspecified previousArrivalDate
previousDepartureDate checkInTime checkOutTime nights phone totalPrice taxAmount channelCommissionAmount
hostawayCommissionAmount cleaningFee securityDepositFee isPaid paymentMethod stripeGuestId currency status
cancellationDate cancelledBy hostNote guestNote guestLocale doorCode doorCodeVendor doorCodeInstruction comment
confirmationCode airbnbExpectedPayoutAmount airbnbListingBasePrice airbnbListingCancellationHostFee
airbnbListingCancellationPayout airbnbListingCleaningFee airbnbListingHostFee airbnbListingSecurityPrice
airbnbOccupancyTaxAmountPaidToHost airbnbTotalPaidAmount airbnbTransientOccupancyTaxPaidAmount
airbnbCancellationPolicy isStarred isArchived isPinned originalChannel customerUserId rentalAgreementFileUrl
reservationAgreement remainingBalance insuranceStatus claimStatus insurancePolicyId cancellationPolicyId
cancellationPolicy bookingCancellationPolicy vrboCancellationPolicy marriottCancellationPolicy
cancellationPolicyDetails hostProxyEmail bookingcomSpecialRequests bookingcomSmokingPreference
bookingcomIsGeniusMember bookingcomBookerName bookingcomBookerCompany bookingcomNoShowReportedAt
bookingcomNoShowFeeWaived customFieldValues financeField listingName
""".split()

LISTING = """
id propertyTypeId name externalListingName internalListingName description houseRules keyPickup specialInstruction
doorSecurityCode country countryCode state city street address publicAddress zipcode price starRating
averageReviewRating weeklyDiscount monthlyDiscount propertyRentTax guestPerPersonPerNightTax guestStayTax
guestNightlyTax guestBathroomsNumber refundableDamageDeposit personCapacity maxChildrenAllowed maxInfantsAllowed
maxPetsAllowed lat lng checkInTimeStart checkInTimeEnd checkOutTime cancellationPolicy cancellationPolicyId
vrboCancellationPolicyId airbnbCancellationPolicyId marriottCancellationPolicyId bookingCancellationPolicyId
squareMeters specialStatus roomType bathroomType bedroomsNumber bedsNumber bedType bathroomsNumber minNights
maxNights guestsIncluded cleaningFee priceForExtraPerson instantBookable instantBookableLeadTime allowSameDayBooking
sameDayBookingLeadTime contactName contactSurName contactPhone1 contactPhone2 contactLanguage contactEmail
contactAddress language currencyCode timeZoneName wifiUsername wifiPassword cleannessStatus cleaningInstruction
cleannessStatusUpdatedOn homeawayPropertyName homeawayPropertyHeadline homeawayPropertyDescription
bookingcomPropertyName bookingcomPropertyDescription invoicingContactName invoicingContactSurName
invoicingContactPhone1 invoicingContactPhone2 invoicingContactLanguage invoicingContactEmail invoicingContactAddress
invoicingContactCity invoicingContactZipcode invoicingContactCountry propertyLicenseNumber propertyLicenseType
propertyLicenseIssueDate propertyLicenseExpirationDate partnersListingMarkup airbnbOfficialListingMarkup
bookingEngineMarkup homeawayApiMarkup marriottListingMarkup isRentalAgreementActive listingAgreementText
bookingcomPropertyRegisteredInVcs bookingcomPropertyHasVat bookingcomPropertyDeclaresRevenue airbnbListingUrl
vrboListingUrl googleVrListingUrl airbnbName airbnbSummary airbnbSpace airbnbAccess airbnbInteraction
airbnbNeighborhoodOverview airbnbTransit airbnbNotes insuranceEligibilityStatus listingAmenities listingBedTypes
listingImages customFieldValues
""".split()

CONVERSATION = """
accountId listingMapId reservationId type recipientEmail recipientName recipientPicture hostEmail guestEmail
hasUnreadMessages messageSentOn messageReceivedOn conversationMessages Reservation id
""".split()

MESSAGE = """
accountId listingMapId reservationId conversationId communicationId airbnbThreadMessageId body communicationType status
isIncoming isSeen sentUsingHostaway hash listingTimeZoneName communicationEvent communicationTimeDelta
communicationApplyListingTimeZone communicationAlwaysTrigger date sentChannelDate attachments insertedOn updatedOn id
""".split()

TASK = """
id listingMapId channelId reservationId autoTaskId assigneeUserId canBePickedByGroupId supervisorUserId createdByUserId
isUpdatedManually checklistTemplateId reservationUnitId title description canStartFrom canStartFromListingTime
canStartFromEvent canStartFromEventDelta shouldEndBy shouldEndByListingTime shouldEndByEvent shouldEndByEventDelta status
resolutionNote feedbackScore feedbackNote startedAt confirmedAt completedAt priority cost costCurrency costDescription
color expense rank checklistItems customFieldValue categoriesMap
""".split()

REVIEW = """
id accountId listingMapId reservationId autoReviewId timeDelta scheduledDateTime channelId type status rating
externalReviewId externalReservationId publicReview privateFeedback revieweeResponse isRevieweeRecommended isCancelled
autoReviewTemplateId reviewCategory departureDate arrivalDate listingName guestName
""".split()

SCHOOL = """
year ncessch school_id school_name leaid lea_name state_leaid seasch street_mailing city_mailing state_mailing
zip_mailing street_location city_location state_location zip_location phone fips latitude longitude csa cbsa
urban_centric_locale county_code school_level school_type school_status lowest_grade_offered highest_grade_offered
bureau_indian_education title_i_status title_i_eligible title_i_schoolwide charter magnet shared_time virtual
teachers_fte free_lunch reduced_price_lunch free_or_reduced_price_lunch elem_cedp high_cedp middle_cedp ungrade_cedp
enrollment state_leg_district_lower state_leg_district_upper ncessch_num congress_district_id direct_certification
lunch_program
""".split()


def filled(record, names, number):
    """The record with all of these fields: those that it has, and others with a value of their kind, or null."""
    return {name: record.get(name, other(name, number)) for name in names} | record


def other(name, number):
    if name.startswith(("is", "has", "include")):
        return number % 2
    if name.endswith(("Id", "_id", "_code", "Fee", "Tax", "Amount", "Markup", "lunch", "level", "type", "status")):
        return (number * 7919 + len(name)) % 900 if number % 3 else None
    if name.endswith(("Date", "On", "Activity")):
        return f"2026-0{1 + number % 9}-1{number % 10}"
    return None if (number + len(name)) % 2 else f"{name} of {number}"
